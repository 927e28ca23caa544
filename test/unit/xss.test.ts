import sanitize from 'sanitize-html'
import { expect, test } from 'vitest'

import { renderMarkdown } from '../../src/domains/comments/markdown.ts'

interface Tag {
  name: string
  attributes: Record<string, string>
}

/** Every tag of `html`, as an HTML parser sees them: the sanitizer's own, with nothing forbidden. */
function tagsOf(html: string): Tag[] {
  const tags: Tag[] = []
  sanitize(html, {
    allowedTags: false,
    allowedAttributes: false,
    allowVulnerableTags: true,
    transformTags: {
      '*': (name, attributes) => {
        tags.push({ name, attributes: { ...attributes } })
        return { tagName: name, attribs: attributes }
      },
    },
  })
  return tags
}

const TAGS = new Set('a blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong ul'.split(' '))
const ATTRIBUTES: Readonly<Record<string, RegExp>> = {
  // A browser drops tabs and line breaks within a scheme: there must be none.
  href: /^(https?:|mailto:)[^\s\p{Cc}]*$/u,
  rel: /^nofollow ugc noopener$/,
  title: /^[^]*$/,
  start: /^\d+$/,
  class: /^language-[\w+#.-]{1,50}$/,
}

/** What of a rendered comment could run, load or submit anything. */
function dangers(html: string): string[] {
  const found = tagsOf(html).flatMap(({ name, attributes }) => {
    if (!TAGS.has(name)) return [`<${name}>`]
    return Object.entries(attributes).flatMap(([attribute, value]) =>
      ATTRIBUTES[attribute]?.test(value) === true ? [] : [`<${name} ${attribute}=${JSON.stringify(value)}>`],
    )
  })
  // Comments, CDATA and processing instructions are no tags, but parsers differ in where they end.
  return /<[!?]/.test(html) ? [...found, '<!'] : found
}

const JS = 'javascript:alert(1)'

/** The evasions of OWASP's cheat sheet, those of HTML5 and of mutation, each as a comment could carry it. */
const HTML = [
  '<SCRIPT SRC=https://evil.example/xss.js></SCRIPT>',
  `<IMG SRC="${JS};">`,
  `<IMG SRC=${JS}>`,
  '<IMG SRC=JaVaScRiPt:alert(1)>',
  '<IMG SRC=javascript:alert(&quot;XSS&quot;)>',
  '<IMG SRC=`javascript:alert("XSS")`>',
  '\\<a onmouseover="alert(document.cookie)"\\>xxs link\\</a\\>',
  '<IMG """><SCRIPT>alert("XSS")</SCRIPT>"\\>',
  '<IMG SRC=javascript:alert(String.fromCharCode(88,83,83))>',
  '<IMG SRC=# onmouseover="alert(1)">',
  '<IMG SRC= onmouseover="alert(1)">',
  '<IMG onmouseover="alert(1)">',
  '<IMG SRC=/ onerror="alert(String.fromCharCode(88,83,83))"></img>',
  '<img src=x onerror="&#0000106&#0000097&#0000118&#0000097&#0000115&#0000099&#0000114&#0000105&#0000112&#0000116&#0000058&#0000097">',
  '<IMG SRC=&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;&#97;&#108;&#101;&#114;&#116;&#40;&#49;&#41;>',
  '<IMG SRC=&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A&#x61&#x6C&#x65&#x72&#x74&#x28&#x31&#x29>',
  '<IMG SRC="jav\tascript:alert(1);">',
  '<IMG SRC="jav&#x09;ascript:alert(1);">',
  '<IMG SRC="jav&#x0A;ascript:alert(1);">',
  '<IMG SRC="jav&#x0D;ascript:alert(1);">',
  '<IMG SRC=" &#14; javascript:alert(1);">',
  '<SCRIPT/XSS SRC="https://evil.example/xss.js"></SCRIPT>',
  '<BODY onload!#$%&()*~+-_.,:;?@[/|\\]^`=alert("XSS")>',
  '<SCRIPT/SRC="https://evil.example/xss.js"></SCRIPT>',
  '<<SCRIPT>alert("XSS");//\\<</SCRIPT>',
  '<SCRIPT SRC=https://evil.example/xss.js?< B >',
  '<SCRIPT SRC=//evil.example/.j>',
  '<IMG SRC="`<javascript:alert>`(1)"',
  '</TITLE><SCRIPT>alert("XSS");</SCRIPT>',
  `<INPUT TYPE="IMAGE" SRC="${JS};">`,
  `<BODY BACKGROUND="${JS}">`,
  `<IMG DYNSRC="${JS}">`,
  `<IMG LOWSRC="${JS}">`,
  `<STYLE>li {list-style-image: url("${JS}");}</STYLE><UL><LI>XSS</br>`,
  '<IMG SRC=\'vbscript:msgbox("XSS")\'>',
  '<svg/onload=alert(1)>',
  '<svg><script>alert&#40;1)</script>',
  '<svg><animate attributeName=href values=javascript:alert(1) /><a><text x=20 y=20>x</text></a>',
  '<svg><use href="data:image/svg+xml;base64,PHN2Zz4=#x"/></svg>',
  '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
  '<BODY ONLOAD=alert(1)>',
  `<BGSOUND SRC="${JS};">`,
  '<BR SIZE="&{alert(1)}">',
  `<LINK REL="stylesheet" HREF="${JS};">`,
  "<STYLE>@import'https://evil.example/xss.css';</STYLE>",
  '<META HTTP-EQUIV="Link" Content="<https://evil.example/xss.css>; REL=stylesheet">',
  `<META HTTP-EQUIV="refresh" CONTENT="0;url=${JS};">`,
  '<META HTTP-EQUIV="refresh" CONTENT="0;url=data:text/html base64,PHNjcmlwdD4=">',
  '<STYLE>@im\\port\'\\ja\\vasc\\ript:alert("XSS")\';</STYLE>',
  '<IMG STYLE="xss:expr/*XSS*/ession(alert(1))">',
  '<XSS STYLE="behavior: url(xss.htc);">',
  `<IFRAME SRC="${JS};"></IFRAME>`,
  '<IFRAME SRC=# onmouseover="alert(1)"></IFRAME>',
  '<iframe srcdoc="<img src=x onerror=alert(1)>"></iframe>',
  `<FRAMESET><FRAME SRC="${JS};"></FRAMESET>`,
  `<TABLE BACKGROUND="${JS}"><TD BACKGROUND="${JS}">`,
  `<DIV STYLE="background-image: url(${JS})">`,
  '<DIV STYLE="width: expression(alert(1));">',
  '<!--[if gte IE 4]><SCRIPT>alert(1);</SCRIPT><![endif]-->',
  `<BASE HREF="${JS};//">`,
  '<OBJECT TYPE="text/x-scriptlet" DATA="https://evil.example/scriptlet.html"></OBJECT>',
  '<EMBED SRC="data:image/svg+xml;base64,PHN2Zz4=" type="image/svg+xml" AllowScriptAccess="always"></EMBED>',
  '<XML ID="xss"><I><B><IMG SRC="javas<!-- -->cript:alert(1)"></B></I></XML>',
  "<? echo('<SCR)';echo('IPT>alert(\"XSS\")</SCRIPT>'); ?>",
  '<SCRIPT a=">" SRC="https://evil.example/xss.js"></SCRIPT>',
  '<SCRIPT =">" SRC="https://evil.example/xss.js"></SCRIPT>',
  '<SCRIPT>document.write("<SCRI");</SCRIPT>PT SRC="https://evil.example/xss.js"></SCRIPT>',
  '<form><button formaction=javascript:alert(1)>x</button></form>',
  '<form id="test"></form><button form="test" formaction="javascript:alert(1)">x</button>',
  '<input onfocus=alert(1) autofocus>',
  '<select onfocus=alert(1) autofocus>',
  '<textarea onfocus=alert(1) autofocus>',
  '<keygen onfocus=alert(1) autofocus>',
  '<video><source onerror="alert(1)"></video>',
  `<video poster=${JS}//></video>`,
  '<audio src=x onerror=alert(1)>',
  '<details open ontoggle=alert(1)>',
  '<marquee onstart=alert(1)>',
  '<isindex type=image src=1 onerror=alert(1)>',
  '<math href="javascript:alert(1)">x</math>',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<template><script>alert(1)</script></template>',
  '<x contenteditable onblur=alert(1)>lose focus!',
  '<x onclick=alert(1) style="position:fixed;inset:0">',
  '<a href="https://evil.example" target="_blank" onclick="alert(1)">x</a>',
  '<a href="\x01javascript:alert(1)">x</a>',
  '<a href="data:text/html,<script>alert(1)</script>">x</a>',
  '<a id=defaultView><a id=defaultView name=x href=clobber:x>',
  '<img name=getElementsByTagName>',
  '<plaintext>',
  '<xmp><img src=x onerror=alert(1)></xmp>',
  '<title><img src=x onerror=alert(1)></title>',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<!doctype html><script>alert(1)</script>',
  '\u003cscript\u003ealert(1)\u003c/script\u003e',
  '\uff1cscript\uff1ealert(1)\uff1c/script\uff1e',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&amp;lt;script&amp;gt;alert(1)',
]

/** What a link, an image or a fence of Markdown can be given. */
const TARGETS = [
  JS,
  'JAVASCRIPT:alert(1)',
  'javascript&colon;alert(1)',
  'javascript&#58;alert(1)',
  '&#x6a;avascript:alert(1)',
  'java\\script:alert(1)',
  'java%0ascript:alert(1)',
  '%6aavascript:alert(1)',
  'jav&#x09;ascript:alert(1)',
  'jav&Tab;ascript:alert(1)',
  'jav&NewLine;ascript:alert(1)',
  '\u0000javascript:alert(1)',
  '\u00a0javascript:alert(1)',
  '\u2028javascript:alert(1)',
  'vbscript:msgbox(1)',
  'data:text/html,<script>alert(1)</script>',
  'data:image/svg+xml;base64,PHN2Zz4=',
  'file:///etc/passwd',
  'blob:https://a.example/1',
  'ftp://a.example/',
  'view-source:https://a.example/',
  'feed:javascript:alert(1)',
  'jar:https://a.example!/x',
  '//evil.example/',
  '\\\\evil.example\\',
  '/admin',
  '?next=1',
  '#id',
  'https:javascript:alert(1)',
  'https://a.example/" onmouseover="alert(1)',
  "https://a.example/' onmouseover='alert(1)",
  'https://a.example/><script>alert(1)</script>',
  'https://a.example/`onmouseover=alert(1)',
  'https://a.example/&quot; onclick=alert(1) x=&quot;',
  'mailto:a@b.example?subject=<script>alert(1)</script>',
]

const wrapped = (target: string): string[] => [
  `[x](${target})`,
  `[x](<${target}>)`,
  `[x](${target} "t\\" onclick=alert(1)")`,
  `![x](${target})`,
  `![${target}](https://a.example/)`,
  `[![x](${target})](${target})`,
  `<${target}>`,
  `[x][r]\n\n[r]: ${target}`,
  `[${target}]: ${target}\n\n[${target}]`,
  `~~~${target}\ncode\n~~~`,
  `\`\`\`x class=${target}\ncode\n\`\`\``,
  target,
]

const CORPUS = [
  ...HTML,
  // Within each structure that the text of a comment can have.
  ...HTML.flatMap((html) => [
    `- ${html}`,
    `> ${html}`,
    `# ${html}`,
    `**${html}**`,
    `[${html}](https://a.example/)`,
    `\`${html}`,
  ]),
  ...HTML.flatMap((html) => [
    `[x](https://a.example/ '${html.replaceAll("'", '')}')`,
    `![${html}](https://a.example/)`,
    `\n\n    ${html}`,
  ]),
  ...TARGETS.flatMap(wrapped),
]

test('the corpus is one', () => {
  expect(HTML.length).toBeGreaterThan(90)
  expect(new Set(CORPUS).size).toBeGreaterThan(1000)
})

test('the judge sees what is dangerous', () => {
  for (const html of [
    '<script>x</script>',
    '<a href="javascript:alert(1)">x</a>',
    '<a onclick="x">x</a>',
    '<a href="java\tscript:x">x</a>',
    '<img src=x>',
    '<!-- -->',
    '<svg/onload=x>',
    '<a style="x">x</a>',
  ]) {
    expect(dangers(html), html).not.toEqual([])
  }
  expect(dangers('<p><a href="https://a.example/" rel="nofollow ugc noopener">x</a></p>')).toEqual([])
})

test('no script, no handler and no unknown scheme survives of any of it', () => {
  const survivors = CORPUS.flatMap((body) => {
    const html = renderMarkdown(body)
    const found = dangers(html)
    return found.length === 0 ? [] : [{ body, html, found }]
  })
  expect(survivors).toEqual([])
})
