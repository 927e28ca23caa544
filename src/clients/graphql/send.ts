import type { GraphqlClient, GraphqlRequest, GraphqlSink } from './types.ts'

/** Runs an operation of any kind. Returns a function that ends it. */
export function send(client: GraphqlClient, kind: string, request: GraphqlRequest, sink: GraphqlSink): () => void {
  if (kind === 'subscription') return client.subscribe(request, sink)
  const control = new AbortController()
  client.query({ ...request, kind }, control.signal).then(
    (result) => {
      sink.next(result)
      sink.complete()
    },
    (error: unknown) => sink.error(error),
  )
  return () => control.abort()
}
