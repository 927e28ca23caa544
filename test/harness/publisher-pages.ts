export interface Visit {
  serviceUrl: string
  /** Who is signed in. */
  reader: string | undefined
  /** The address of the page. */
  path: string
  query: URLSearchParams
}

interface Article {
  title: string
  lead: string
  text: readonly string[]
  lang?: string
}

export const ARTICLES: Readonly<Record<string, Article>> = {
  'night-trains': {
    title: 'The night train is back, and it is fully booked',
    lead: 'Ten years after the last sleeper left, five cities are joined again after dark. A journey with people who would rather wake up somewhere else.',
    text: [
      'At 21:47 the platform is quiet, and then it is not. Families with too many bags, two cyclists who have taken their wheels apart, a choir. The conductor counts them in with a pencil.',
      'The carriages are thirty years old and newly painted. What is new is the demand: every berth until March was gone within a week, and the operator has ordered forty more cars, which will take three years to build.',
      'Nobody here speaks of saving the world. They speak of breakfast, and of a border crossed asleep.',
    ],
  },
  'library-hours': {
    title: 'A library that never closes',
    lead: 'The reading room on Mill Street stays open all night. We spent one in it.',
    text: [
      'Between two and four in the morning it belongs to nurses, bakers and one retired surveyor who is reading everything on bridges.',
      'It costs the town less than a roundabout. There have been no thefts. There has been one wedding proposal.',
    ],
  },
  'river-bath': {
    title: 'Swimming to work, in a river that was given up',
    lead: 'Forty years of patience have made the water clear. The first swimming commuters do not want to make a fuss.',
    text: [
      'They put their clothes into a watertight bag and let the current do the work. It takes eleven minutes to the old harbour.',
      'The city tests the water every morning at six, and says so on a board that nobody reads any more.',
    ],
  },
  qahwa: {
    title: 'المقهى الذي يفتح قبل الفجر',
    lead: 'في حيّ قديم، يلتقي الخبّازون والصيّادون حول القهوة قبل أن تستيقظ المدينة.',
    text: [
      'عند الرابعة صباحًا تُضاء النافذة الوحيدة في الشارع. يعرف صاحب المقهى زبائنه بأصواتهم قبل وجوههم.',
      'لا قائمة أسعار هنا. يقول: «من يأتِ في هذا الوقت فهو ضيف».',
    ],
    lang: 'ar',
  },
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`)

export function indexPage(visit: Visit): string {
  const items = Object.entries(ARTICLES).map(
    ([slug, { title, lead, lang = 'en' }]) => `<li lang="${lang}" dir="auto">
      <h2><a href="/articles/${slug}">${title}</a></h2>
      <p>${lead}</p>
      <p class="count"><a href="/articles/${slug}"><engagement-count discussion="${slug}"></engagement-count></a></p>
    </li>`,
  )
  return page('The Morning Paper', 'en', visit, `<ul class="index">${items.join('')}</ul>`)
}

/**
 * The query sets attributes of the widget, so that a test can have the page that it needs, or the
 * page without it (`widget=off`).
 */
export function articlePage(slug: string, visit: Visit, rendered?: { html: string; head: string }): string {
  const { title, lead, text, lang = 'en' } = ARTICLES[slug] ?? { title: 'An article', lead: slug, text: [] }
  const attributes = ['sort', 'theme', 'page-size', 'more', 'loading', 'backend', 'sign-in'].flatMap((name) => {
    const value = visit.query.get(name)
    return value === null ? [] : [` ${name}="${escape(value)}"`]
  })
  // Like a server that shows comments without JavaScript.
  const written = visit.query.get('written')
  const thread = `<engagement-thread discussion="${slug}"${attributes.join('')}>
      <noscript>The comments need JavaScript.</noscript>
      ${written === null ? '' : `<p>${escape(written)}</p>`}
    </engagement-thread>`
  return page(
    title,
    visit.query.get('lang') ?? lang,
    visit,
    `<article>
      <h1>${title}</h1>
      <p class="lead">${escape(lead)}</p>
      ${hasWidget(visit) ? `<p class="count"><engagement-count discussion="${slug}"></engagement-count></p>` : ''}
      ${text.map((paragraph) => `<p>${paragraph}</p>`).join('')}
    </article>
    ${hasWidget(visit) ? (rendered?.html ?? thread) : ''}`,
    rendered?.head,
  )
}

const hasWidget = ({ query }: Visit): boolean => query.get('widget') !== 'off'

function page(title: string, lang: string, visit: Visit, content: string, head = ''): string {
  const theme = /^(dark|light)$/.exec(visit.query.get('page') ?? '')?.[0] ?? 'auto'
  return `<!doctype html>
<html lang="${escape(lang)}" dir="${lang.startsWith('ar') ? 'rtl' : 'ltr'}" class="${theme}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="/icon.svg">
    <link rel="stylesheet" href="/style.css">
    ${hasWidget(visit) ? `<script type="module" src="${visit.serviceUrl}/widget.js"></script>` : ''}
    <script type="module" src="/site.js"></script>
    ${head}
  </head>
  <body>
    <header class="site">
      <a class="name" href="/">The Morning Paper</a>
      <nav aria-label="Readers" aria-describedby="question">${switcher(visit)}</nav>
      <nav aria-label="Service"><a href="${visit.serviceUrl}/docs/guides/">Guides</a> <a href="${visit.serviceUrl}/console/">Console</a></nav>
    </header>
    <p class="question" id="question" hidden>Sign in as Ann or as Bob?</p>
    <main>${content}</main>
    <footer class="site">The Morning Paper, printed at night</footer>
  </body>
</html>
`
}

function switcher({ reader, path }: Visit): string {
  const names = { ann: 'Ann', bob: 'Bob', '': 'Signed out' }
  const back = encodeURIComponent(path)
  return Object.entries(names)
    .map(([id, name]) => {
      const current = id === (reader ?? '') ? ' aria-current="true"' : ''
      return `<a href="/sign-in?as=${id}&amp;return=${back}"${current}>${name}</a>`
    })
    .join(' ')
}

/** What the page records for its tests, and for developers in the console. */
export const SCRIPT = `const heard = []
const violations = []
for (const name of ['ready', 'posted', 'error', 'reply', 'sign-in'])
  addEventListener('engagement-' + name, ({ detail }) => heard.push({ name, detail }))
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => violations.push(violatedDirective + ' ' + blockedURI))
addEventListener('engagement-sign-in', (event) => {
  if (event.target.hasAttribute('sign-in')) return
  event.preventDefault()
  document.querySelector('.question').hidden = false
  document.querySelector('nav a').focus()
})
Object.assign(window, { heard, violations })
`

export const STYLE = `:root {
  color-scheme: light dark;
  --paper: light-dark(#fffdf8, #16181c);
  --ink: light-dark(#1b1a17, #e9e6df);
  --line: light-dark(#d9d3c5, #3a3d44);
  --engagement-accent: light-dark(#8a2432, #f0a3ab);
  --engagement-on-accent: light-dark(#fff, #3b0a10);
  background: var(--paper);
  color: var(--ink);
  font: 1.0625rem/1.6 Georgia, 'Noto Serif', 'Liberation Serif', serif;
}
.light { color-scheme: light; }
.dark { color-scheme: dark; }
body { margin: 0; }
a { color: inherit; }
header.site, main { max-width: 44rem; margin: 0 auto; padding: 0 1.25rem; }
header.site {
  display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .5rem 1.5rem;
  padding-block: 1.25rem .75rem; border-block-end: 3px double var(--line);
}
.name { font-size: 1.5rem; font-weight: 700; text-decoration: none; letter-spacing: -.01em; }
nav { display: flex; gap: 1rem; font: .875rem/1.75 system-ui, sans-serif; }
nav a { text-decoration: none; padding-block: 2px; }
nav a[aria-current] { font-weight: 600; border-block-end: 2px solid var(--engagement-accent); }
.question {
  position: sticky; top: 0; z-index: 2; max-width: 44rem; box-sizing: border-box; margin: 0 auto; padding: .5rem 1.25rem;
  background: var(--engagement-accent); color: var(--engagement-on-accent);
}
main { padding-block: 1.5rem 6rem; }
h1 { font-size: clamp(1.75rem, 6vw, 2.5rem); line-height: 1.15; letter-spacing: -.02em; margin: 1rem 0; text-wrap: balance; }
.lead { font-size: 1.2rem; line-height: 1.5; }
.count { font: .875rem/1.75 system-ui, sans-serif; }
.index { list-style: none; padding: 0; }
.index li { padding-block: 1rem; border-block-end: 1px solid var(--line); }
.index h2 { margin: 0; font-size: 1.5rem; line-height: 1.25; }
.index h2 a { text-decoration: none; }
.index p { margin: .5rem 0 0; }
footer.site { max-width: 44rem; margin: 0 auto; padding: 1rem 1.25rem 6rem; border-block-start: 3px double var(--line); }
/* Reserves the widget's space until its script is loaded: for 5 s, as a browser may block it. */
engagement-thread:not(:defined) { display: block; animation: 5s engagement-wait; }
@keyframes engagement-wait { from, to { min-block-size: 100vh; } }
engagement-count:not(:defined) { display: inline-block; min-block-size: 1lh; }
engagement-thread { margin-block-start: 3rem; padding-block-start: 1.5rem; border-block-start: 3px double var(--line);
  font-family: system-ui, 'Noto Sans', sans-serif; font-size: 1rem; }
`
