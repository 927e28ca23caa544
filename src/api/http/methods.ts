import type { FastifyInstance, HTTPMethods } from 'fastify'

import { ServiceError } from '../../core/errors.ts'
import { pathOf } from './path.ts'

/**
 * Methods that the router knows. Others reach the handler of unknown paths, which calls
 * `allowedMethods`.
 */
const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
/** Methods that exist for every path, and are not listed. */
const UNNAMED: ReadonlySet<string> = new Set(['HEAD', 'OPTIONS'])

interface Path {
  url: string
  methods: Set<string>
}

/** The paths of a server and their methods, for answers of 405 with `Allow`. */
export class Methods {
  readonly #patterns: { pattern: RegExp; allow: readonly string[] }[] = []

  /**
   * Collects the routes that `scope` gets from now on. Call the result to refuse all other methods
   * of their paths.
   */
  watch(scope: FastifyInstance): () => void {
    const paths = new Map<string, Path>()
    let isOver = false
    scope.addHook('onRoute', ({ url, method }) => {
      if (isOver) return
      // Two routes with the same path may name its parameters differently.
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
   * The methods of an address's path, for a request whose method the router does not know; null for
   * an unknown path.
   */
  allowedMethods(address: string): readonly string[] | null {
    const path = pathOf(address)
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
