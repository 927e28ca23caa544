import type { FastifyInstance, HTTPMethods } from 'fastify'

import { ServiceError } from '../../core/errors.ts'

/**
 * Those that the router knows. Others reach the handler of unknown paths, which asks
 * `allowedMethods`.
 */
const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
/** They stand beside every path's own, and are no answer to what it takes. */
const UNNAMED: ReadonlySet<string> = new Set(['HEAD', 'OPTIONS'])

interface Path {
  url: string
  methods: Set<string>
}

/** The paths of a server and what each takes, for answers of 405 with `Allow`. */
export class Methods {
  readonly #patterns: { pattern: RegExp; allow: readonly string[] }[] = []

  /**
   * Notes the routes that `scope` gets from now on. The result, once called, refuses all other
   * methods of their paths.
   */
  watch(scope: FastifyInstance): () => void {
    const paths = new Map<string, Path>()
    let isOver = false
    scope.addHook('onRoute', ({ url, method }) => {
      if (isOver) return
      // Two routes of one path may name its parameters differently.
      const shape = url.replace(/:\w+/g, ':')
      const path = paths.get(shape) ?? { url, methods: new Set() }
      paths.set(shape, path)
      for (const each of [method].flat()) path.methods.add(each)
    })
    return () => {
      isOver = true
      for (const path of paths.values()) this.#refuseOthers(scope, path)
    }
  }

  /**
   * What the path of an address takes, where its method is one that the router does not know; null
   * where it is no path.
   */
  allowedMethods(address: string): readonly string[] | null {
    const [path = ''] = address.split('?')
    return this.#patterns.find(({ pattern }) => pattern.test(path))?.allow ?? null
  }

  #refuseOthers(scope: FastifyInstance, { url, methods }: Path): void {
    const allow = [...methods].filter((method) => !UNNAMED.has(method))
    const pattern = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*')
    this.#patterns.push({ pattern: new RegExp(`^${pattern.replace(/:\w+/g, '[^/]+')}$`), allow })
    scope.route({
      method: METHODS.filter((method) => !methods.has(method)),
      url,
      exposeHeadRoute: false,
      handler: () => {
        throw new ServiceError('method_not_allowed', { allow })
      },
    })
  }
}
