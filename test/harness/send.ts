interface CallOptions {
  body?: unknown
  /** Replaces the API key where it has credentials of its own; `{ 'x-api-key': '' }` sends none. */
  headers?: Headers
}

/** Of a request. */
export type Headers = Record<string, string>

export interface TestResponse {
  status: number
  headers: Response['headers']
  text: string
  // Tests look into any answer; a wrong path fails the assertion it stands in.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any
}

export type Json = TestResponse['json']

export type Call = (method: string, path: string, options?: CallOptions) => Promise<TestResponse>

/** Sends a request, whose body is sent as JSON, or as it is where it is a text. */
export async function send(url: string, method: string, headers: Headers, body?: unknown): Promise<TestResponse> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = text !== '' && /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}
