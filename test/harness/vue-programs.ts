import { compileScript, parse } from 'vue/compiler-sfc'

/**
 * A component of Vue as TypeScript, for the compiler: its script, and its template as functions. In
 * these, `checked` makes the nodes. Throws what is wrong with the component.
 */
export function typescriptOf(component: string): string {
  const { descriptor, errors } = parse(component)
  if (errors[0] !== undefined) throw errors[0]
  // Without what is stored between drawings, which has no type.
  const compilerOptions = { cacheHandlers: false, hoistStatic: false }
  const { content } = compileScript(descriptor, {
    id: 'guide',
    inlineTemplate: true,
    templateOptions: { compilerOptions },
  })
  return content
    .replace(/_create(?:Block|VNode)\(_unref\((\w+)\)(?:, )?/g, 'checked($1)(')
    .replace(/^( +)"([a-z]+)-([a-z]+)":/gm, (_, space: string, head: string, tail: string) => {
      return `${space}${head}${tail.charAt(0).toUpperCase()}${tail.slice(1)}:`
    })
}

/**
 * The declaration of `checked`: a template gives a component nothing but its props and events.
 * `any[]`, because components take different options, which no other type of a parameter holds.
 */
export const CHECKED = `import type { VNode } from 'vue'

type Camel<Text> = Text extends \`\${infer Head}-\${infer Tail}\` ? \`\${Head}\${Capitalize<Tail>}\` : Text
type Given<Props> = { [Key in keyof Props as Camel<Key>]: Props[Key] } & { ref_key?: string }

declare global {
  function checked<Component extends new (...given: any[]) => { $props: object }>(
    component: Component,
  ): (given?: Given<InstanceType<Component>['$props']> | null, ...rest: unknown[]) => VNode
}
`
