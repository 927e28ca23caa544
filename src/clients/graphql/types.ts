export type Awaitable<T> = T | Promise<T>

/** The answer of `POST /api/v1/client-tokens`, as the page's backend passes it on. */
export interface ClientToken {
  token: string
  /** When it expires, as an ISO 8601 date. */
  expiresAt: string
  /** The reader it acts for; null without one. */
  readerId?: string | null
}

/** A request of "GraphQL over HTTP". */
export interface GraphqlRequest {
  query?: string | undefined
  /** Instead of `query`: the id of a document that the service knows. */
  documentId?: string | undefined
  operationName?: string | undefined
  variables?: Readonly<Record<string, unknown>> | undefined
  extensions?: Readonly<Record<string, unknown>> | undefined
  /** Whether it is a `query` or a `mutation`; by default what its text says. It is not sent. */
  kind?: string | undefined
  /** Of this request alone, such as an `Idempotency-Key`. */
  headers?: Readonly<Record<string, string>> | undefined
}

export interface GraphqlResult<Data = Record<string, unknown>> {
  data?: Data | null
  errors?: readonly { readonly message: string; readonly extensions?: Readonly<Record<string, unknown>> }[]
  extensions?: Record<string, unknown>
}

/** What gets the results of a subscription. */
export interface GraphqlSink<Data = Record<string, unknown>> {
  next: (result: GraphqlResult<Data>) => unknown
  /** The subscription was refused, and trying again is useless. */
  error: (error: unknown) => unknown
  /** It is over, after a result with errors that says why. */
  complete: () => unknown
}

export interface GraphqlClientOptions {
  /** The address of `/graphql`. */
  url: string
  /**
   * Requests a client token from the page's own backend: at first, before the token expires, and
   * when it was refused. Without it `headers` has the credential.
   */
  token?: (() => Awaitable<ClientToken>) | undefined
  /**
   * For a page without a backend: the public key of its site (`pk_…`), instead of `token`.
   */
  site?: string | undefined
  /**
   * The token of the reader who is signed in at the tenant's issuer; null for nobody. Called before
   * each request of a `site`, and once more with true after the service has refused a token.
   */
  identity?: ((isRefused: boolean) => Awaitable<string | null | undefined>) | undefined
  /** Before the name of the header with the `site`: `X-Service-` by default. */
  headerPrefix?: string | undefined
  /** Further headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * A subscription's `lastEventId` is older than the replay window: the page must load its data
   * again, and return the `lastEventId` that they show, from which the subscription goes on.
   * Without it the subscription ends with that error.
   */
  reload?: ((request: GraphqlRequest) => Awaitable<string>) | undefined
  /** Whether the tabs of a browser share one connection for each subscription. False by default. */
  share?: boolean | undefined
  /**
   * Called when a subscription is connecting, also again, and when it is open. With `share` it
   * tells the state of the connection that the tabs have together.
   */
  onState?: ((state: 'connecting' | 'open', request: GraphqlRequest) => unknown) | undefined
  /** Called with each failure after which a subscription tries again; `console.warn` by default. */
  onError?: ((error: unknown) => unknown) | undefined
  /** By default that of the page; Expo has one of its own, which can read streams. */
  fetch?: typeof fetch | undefined
}

export interface GraphqlClient {
  /** That of the page, with the token, which is renewed if it was refused. */
  readonly fetch: typeof fetch
  /**
   * Runs a query or a mutation. Rejects where no answer of GraphQL comes. While the service does
   * not answer, as in a restart, queries and mutations with an `Idempotency-Key` are sent again for
   * some seconds.
   */
  query: <Data = Record<string, unknown>>(request: GraphqlRequest, signal?: AbortSignal) => Promise<GraphqlResult<Data>>
  /**
   * Subscribes. It connects again after each loss, with the `seq` of the last event as the variable
   * `lastEventId`, so select `seq`, and give `lastEventId` of the page's discussion at first. Each
   * event comes once and in order. Returns a function that ends it for good.
   */
  subscribe: <Data = Record<string, unknown>>(request: GraphqlRequest, sink: GraphqlSink<Data>) => () => void
  /** The results of a subscription one by one. Leaving the loop ends it. */
  iterate: <Data = Record<string, unknown>>(request: GraphqlRequest) => AsyncGenerator<GraphqlResult<Data>, void, void>
}
