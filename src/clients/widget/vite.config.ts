import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { minify, type MinifyOptions } from 'terser'
import { defineConfig, type Rolldown } from 'vite'

/**
 * Hooks of lit for polyfills and for other versions of itself. No page with this widget has either.
 */
const MARKS =
  /,(\w+)=\w+\.litHtmlPolyfillSupport;\1\?\.\(\w+,\w+\),\(\w+\.litHtmlVersions\?\?=\[\]\)\.push\(`[\d.]+`\);var /

/**
 * Parts of lit and what stays in their place: for SVG and MathML, compiled templates, bindings of
 * whole elements, in comments and in the text of a `<textarea>`, directives, `noChange`, and
 * options of handlers and of `render`. The widget has none of them. They are a quarter of lit.
 * Another version of lit fails the build.
 */
const UNUSED: readonly (readonly [string, string])[] = [
  [',l=2===i?"<svg>":3===i?"<math>":""', ',l=""'],
  ['+(2===i?"</svg>":3===i?"</math>":"")', ''],
  [
    'if(this.el=S.createElement(f,e),P.currentNode=this.el.content,2===i||3===i){const t=this.el.content.firstChild;t.replaceWith(...t.childNodes)}',
    'this.el=S.createElement(f,e),P.currentNode=this.el.content;',
  ],
  ['else t.startsWith(o)&&(d.push({type:6,index:l}),r.removeAttribute(t))', ''],
  [
    '1===r.type?i=new r.ctor(h,r.name,r.strings,this,t):6===r.type&&(i=new Z(h,this,t))',
    '1===r.type&&(i=new r.ctor(h,r.name,r.strings,this,t))',
  ],
  ['get startNode(){return this._$AA}get endNode(){return this._$AB}', ''],
  ['setConnected(t){void 0===this._$AM&&(this._$Cv=t,this._$AP?.(t))}', ''],
  ['get _$AU(){return this._$AM?._$AU??this._$Cv}', ''],
  [',this._$Cv=e?.isConnected??!0', ''],
  ['this._$AP?.(!1,!0,s);', ';'],
  [
    'get parentNode(){let t=this._$AA.parentNode;const i=this._$AM;return void 0!==i&&11===t?.nodeType&&(t=i.parentNode),t}',
    '',
  ],
  ['get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}', ''],
  ['get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}', ''],
  [
    'if(i===E)return i;let h=void 0!==e?s._$Co?.[e]:s._$Cl;const o=a(i)?void 0:i._$litDirective$;return h?.constructor!==o&&(h?._$AO?.(!1),void 0===o?h=void 0:(h=new o(t),h._$AT(t,s,e)),void 0!==e?(s._$Co??=[])[e]=h:s._$Cl=h),void 0!==h&&(i=M(t,h._$AS(t,i.values),h,e)),i',
    'return i',
  ],
  [
    '"number"==typeof s?this._$AC(t):(void 0===s.el&&(s.el=S.createElement(V(s.h,s.h[0]),this.options)),s)',
    'this._$AC(t)',
  ],
  ['(t?.creationScope??l).importNode', 'l.importNode'],
  ['||t.capture!==s.capture||t.once!==s.once||t.passive!==s.passive', ''],
  [
    '"function"==typeof this._$AH?this._$AH.call(this.options?.host??this.element,t):this._$AH.handleEvent(t)',
    'this._$AH.call(this.element,t)',
  ],
  ['const e=s?.renderBefore??i;let h=e._$litPart$', 'let e=i,h=e._$litPart$'],
  [
    'const t=s?.renderBefore??null;e._$litPart$=h=new k(i.insertBefore(c(),t),t,void 0,s??{})',
    'e._$litPart$=h=new k(i.insertBefore(c(),null),null,void 0,{})',
  ],
  // Comments in templates, and bindings in them.
  ['_=/-->/g,', ''],
  ['c===v?"!--"===u[1]?c=_:void 0!==u[1]', 'c===v?void 0!==u[1]'],
  ['c===_||c===m?', 'c===m?'],
  ['else{let t=-1;for(;-1!==(t=r.data.indexOf(o,t+1));)d.push({type:7,index:l}),t+=o.length-1}l++', 'l++'],
  ['else if(8===r.nodeType)if(r.data===n)d.push', 'else if(8===r.nodeType&&r.data===n)d.push'],
  // Bindings in the text of elements that hold no others.
  ['y=/^(?:script|style|textarea|title)$/i,', ''],
  ['let n,l="",c=v;', 'let l="",c=v;'],
  ['(y.test(u[2])&&(n=RegExp("</"+u[2],"g")),c=p)', '(c=p)'],
  ['(c=n??v,d=-1)', '(c=v,d=-1)'],
  ['c=v:(c=p,n=void 0)', 'c=v:(c=p)'],
  [
    'if(y.test(r.tagName)){const t=r.textContent.split(o),i=t.length-1;if(i>0){r.textContent=s?s.emptyScript:"";for(let s=0;s<i;s++)r.append(t[s],c()),P.nextNode(),d.push({type:2,index:++l});r.append(t[i],c())}}',
    '',
  ],
  // `noChange`, and what directives make of a value.
  ['function M(t,i,s=t,e){return i}', ''],
  ['t=M(this,t,i),a(t)?', 'a(t)?'],
  ['t!==this._$AH&&t!==E&&this._(t)', 't!==this._$AH&&this._(t)'],
  ['t=M(this,t,i,0),o=!a(t)||t!==this._$AH&&t!==E,o', 'o=!a(t)||t!==this._$AH,o'],
  ['r=M(this,e[s+n],i,n),r===E&&(r=this._$AH[n]),o||=', 'r=e[s+n],o||='],
  ['if((t=M(this,t,i,0)??A)===E)return;', 't??=A;'],
  [
    'class Z{constructor(t,i,s){this.element=t,this.type=6,this._$AN=void 0,this._$AM=i,this.options=s}get _$AU(){return this._$AM._$AU}_$AI(t){M(this,t)}}',
    '',
  ],
  ['const j={M:h,P:o,A:n,C:1,L:N,R,D:d,V:M,I:k,H,N:L,U:z,B:I,F:Z},', 'const '],
  ['E=Symbol.for("lit-noChange"),', ''],
  [
    'export{j as _$LH,b as html,T as mathml,E as noChange,A as nothing,D as render,w as svg}',
    'export{b as html,A as nothing,D as render}',
  ],
  [',this._$AN=void 0', ''],
  // What a part knows of its parent, of options and of its own kind.
  ['this._$AD=t,this._$AM=i}', 'this._$AD=t}'],
  ['new R(e,this),s=t.u(this.options)', 'new R(e),s=t.u()'],
  ['constructor(t,i,s,e){this.type=2,', 'constructor(t,i){'],
  ['this._$AB=i,this._$AM=s,this.options=e}', 'this._$AB=i}'],
  ['new k(h,h.nextSibling,this,t)', 'new k(h,h.nextSibling)'],
  ['new r.ctor(h,r.name,r.strings,this,t)', 'new r.ctor(h,r.name,r.strings)'],
  ['new k(this.O(c()),this.O(c()),this,this.options)', 'new k(this.O(c()),this.O(c()))'],
  ['new k(i.insertBefore(c(),null),null,void 0,{})', 'new k(i.insertBefore(c(),null),null)'],
  ['constructor(t,i,s,e,h){this.type=1,', 'constructor(t,i,s){'],
  ['this.name=i,this._$AM=e,this.options=h,', 'this.name=i,'],
  ['constructor(){super(...arguments),this.type=3}', ''],
  ['constructor(){super(...arguments),this.type=4}', ''],
  ['constructor(t,i,s,e,h){super(t,i,s,e,h),this.type=5}', ''],
]

const trimLit: Rolldown.Plugin = {
  name: 'trim-lit',
  transform: (code, id) => {
    if (!id.endsWith('/lit-html.js')) return null
    return UNUSED.reduce((left, [part, instead]) => {
      if (!left.includes(part)) throw new Error(`this version of lit has no ${part}: look at UNUSED`)
      return left.replace(part, () => instead)
    }, code)
  },
}

/** Space between the tags of a template. Space within a line of text is kept. */
const EDGES = /(?<=>) (?=<|\$\{)|(?<=\}) (?=<\/)/g

/**
 * Removes the white space of templates, and marks for bundlers: no bundler follows this one. Space
 * stays in the place of a mark, as one may stand right behind `return`.
 */
export const leaveOut = (code: string): string =>
  code.replace(/\n +/g, ' ').replace(EDGES, '').replaceAll('/* @__PURE__ */', ' ').replace(MARKS, ',')

/**
 * Shortens what Oxc leaves: inlines constants and functions that are used once, and renames lit's
 * own properties, which no two files of the widget share. Statements and comparisons are left as
 * written, which compresses better.
 */
const OPTIONS: MinifyOptions = {
  module: true,
  ecma: 2020,
  compress: { sequences: false, lhs_constants: false },
  mangle: { properties: { regex: /^_\$/ } },
}

const chunksOf = (bundle: Rolldown.OutputBundle): Rolldown.OutputChunk[] =>
  Object.values(bundle).filter((file) => file.type === 'chunk')

const shorten: Rolldown.Plugin = {
  name: 'shorten',
  generateBundle: async (_options, bundle) => {
    for (const file of chunksOf(bundle)) file.code = (await minify(leaveOut(file.code), OPTIONS)).code ?? ''
  },
}

/**
 * Names the further files after the digest of all: files of two builds do not fit together, and
 * browsers keep them for different times. The first file keeps its name, by which pages load it.
 */
const nameByDigest: Rolldown.Plugin = {
  name: 'name-by-digest',
  generateBundle: (_options, bundle) => {
    const chunks = chunksOf(bundle)
    const hash = createHash('sha256')
    for (const { code } of chunks.toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1))) hash.update(code)
    const digest = hash.digest('hex').slice(0, 8)
    for (const each of chunks) {
      each.code = each.code.replace(/(["'`]\.\/\w+\.[\w-]+)(?=\.js["'`])/g, `$1.${digest}`)
      if (!each.isEntry) each.fileName = each.fileName.replace(/js$/, `${digest}.js`)
    }
  },
}

/**
 * `dist/widget/<name>.js`, one module, with further ones for each language except English, and for
 * what few readers need. Modules of two names share no file.
 */
export const bundleOf = (entry: string, name: string) =>
  defineConfig({
    root: import.meta.dirname,
    build: {
      target: 'es2022',
      // Browsers with light-dark().
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      outDir: join(import.meta.dirname, '../../../dist/widget'),
      // The widget's is built first.
      emptyOutDir: name === 'widget',
      reportCompressedSize: false,
      lib: { entry, formats: ['es'] },
      rolldownOptions: {
        // Terser takes seconds on a busy machine.
        checks: { pluginTimings: false },
        optimization: { inlineConst: { mode: 'all', pass: 3 } },
        plugins: [trimLit, shorten, nameByDigest],
        output: {
          minify: true,
          entryFileNames: `${name}.js`,
          chunkFileNames: `${name}.[name].js`,
          // What the files of writers share comes with the first of them, in one request.
          codeSplitting: {
            groups: [
              {
                name: 'writing',
                test: /\/writing\/(writing|kit|fields|line|mentions|arrows|selection|keys|icons)\.ts$/,
              },
            ],
          },
        },
      },
    },
    logLevel: 'warn',
  })

export default bundleOf('widget.ts', 'widget')
