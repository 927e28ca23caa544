/**
 * Every error that a caller can meet: code → HTTP status, public text, and help that says when a
 * caller gets it and what to do (docs/reference/errors.md).
 */
export const ERRORS = {
  malformed_json: {
    status: 400,
    title: 'The request cannot be read',
    help: 'The body is not one JSON value in UTF-8, or the request is not valid HTTP. `detail` says which.',
  },
  ambiguous_credentials: {
    status: 400,
    title: 'Send an API key in X-API-Key or an admin token in Authorization, not both',
    help: 'The request has two kinds of credentials, such as a key and a token, or a client token and an assertion. Remove one.',
  },

  missing_credentials: {
    status: 401,
    title: 'This request needs an API key in X-API-Key, or an admin token in Authorization',
    help: 'The route needs a caller. Send an API key or an admin token.',
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is unknown or malformed',
    help: 'No tenant has this key, or it is not `ek_` and 64 hex characters. Check that the whole key is sent.',
  },
  expired_api_key: { status: 401, title: 'The API key has expired', help: 'The key has expired. Create another key.' },
  revoked_api_key: {
    status: 401,
    title: 'The API key has been revoked',
    help: 'The key was revoked. Create another key.',
  },
  invalid_admin_token: {
    status: 401,
    title: 'The admin token or the login is not valid',
    help: 'The e-mail address or the password is wrong, or the token has expired or was ended by a change of the password. Sign in again.',
  },
  invalid_ticket: {
    status: 401,
    title: 'The stream ticket is not valid',
    help: 'The ticket is not one of this service, or is for another discussion. Mint a new ticket.',
  },
  expired_ticket: {
    status: 401,
    title: 'The stream ticket has expired',
    help: 'Tickets open a stream for a short time only (`ticket` in the tenant settings). Mint a new ticket.',
  },
  invalid_client_token: {
    status: 401,
    title: 'The client token is not valid',
    help: 'The token is not one of this service, or it has ended: its key was revoked, or its reader was banned, erased or merged. Get a new one from your backend.',
  },
  expired_client_token: {
    status: 401,
    title: 'The client token has expired',
    help: 'A client token lives for an hour at most. Get a new one from your backend.',
  },
  invalid_identity: {
    status: 401,
    title: 'The identity assertion is not valid',
    help: 'The signature, a header or a claim of the assertion is wrong. `detail` names it. The [test vectors](../../vectors/README.md) show valid and invalid assertions.',
  },
  expired_identity: {
    status: 401,
    title: 'The identity assertion has expired',
    help: 'The `exp` of the assertion is over. Sign a new one.',
  },

  missing_capability: {
    status: 403,
    title: 'The key lacks a capability',
    help: '`detail` names the capability: use a key that has it. A client token can ask only what the [guide](../guides/graphql/README.md#a-browser) lists.',
  },
  capability_escalation: {
    status: 403,
    title: 'A key can grant only capabilities that it holds itself',
    help: 'A key made or changed another key with more capabilities than its own. Use an admin token.',
  },
  admin_only: {
    status: 403,
    title: 'Only an admin may do this',
    help: 'The route takes an admin token, not an API key.',
  },
  identity_required: {
    status: 403,
    title: "Writes on a reader's behalf need an identity assertion",
    help: 'Send the assertion of the reader in `X-Service-Identity`, or mint the client token with it.',
  },
  reader_banned: {
    status: 403,
    title: 'The reader is banned',
    help: 'The reader cannot write while the ban is in force. Show them `ban` of `GET /readers/me`.',
  },
  not_author: {
    status: 403,
    title: 'Only the author may do this',
    help: 'The asserted reader has not written this comment.',
  },
  edit_window_closed: {
    status: 403,
    title: 'The time to edit this comment is over',
    help: 'The edit window of the comment (`editWindowSeconds` of the tenant settings) is over.',
  },
  origin_not_allowed: {
    status: 403,
    title: 'The Origin is not among those that the tenant allows',
    help: 'Add the origin of the page to `allowedOrigins` in the tenant settings.',
  },

  not_found: {
    status: 404,
    title: 'There is no such resource',
    help: 'The id or path does not exist, belongs to another tenant, or is not visible to the caller.',
  },
  unknown_document: {
    status: 404,
    title: 'The tenant has no such document',
    help: 'The tenant has no document of this id, or `graphql.documents` is `known` and this text is not one of them. Add it by `POST /documents` or `cli documents add`.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path does not take this method',
    help: 'The header `Allow` lists the methods that the path takes.',
  },
  not_acceptable: {
    status: 406,
    title: 'The service has no answer of a type that Accept names',
    help: 'Accept `application/graphql-response+json` or `application/json`; a subscription takes `text/event-stream`.',
  },

  request_timeout: {
    status: 408,
    title: 'The request did not arrive completely in time',
    help: 'The request came too slowly. Send it again.',
  },

  discussion_locked: {
    status: 409,
    title: 'The discussion is locked',
    help: 'Readers cannot write while the discussion is locked. A moderator can unlock it.',
  },
  discussion_archived: {
    status: 409,
    title: 'The discussion is archived',
    help: 'An archived discussion cannot be changed. This is final.',
  },
  invalid_transition: {
    status: 409,
    title: 'The resource is not in a state that allows this',
    help: 'The state of the resource does not allow this, or it has changed since it was read. Read it again; `detail` says why.',
  },
  key_budget_exhausted: {
    status: 409,
    title: 'The tenant has as many active keys as its budget allows',
    help: 'Revoke a key, or raise `activeKeyBudget` in the tenant settings.',
  },
  endpoint_budget_exhausted: {
    status: 409,
    title: 'The tenant has as many webhook endpoints as its budget allows',
    help: 'Delete an endpoint, or raise `webhookEndpoints` in the tenant settings.',
  },
  idempotency_conflict: {
    status: 409,
    title: 'This idempotency key was used with another request',
    help: 'Use a new key for each new request. Only repeat the same request with the same key.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request with this idempotency key is still running',
    help: 'Wait for the time in `Retry-After`, and send the same request again.',
  },
  document_conflict: {
    status: 409,
    title: 'The id names another document',
    help: 'The id names another text already. Delete that document, or give this one another id.',
  },
  external_id_taken: {
    status: 409,
    title: 'The external id leads to another discussion',
    help: 'Another discussion has this external id, or had it in the last year: choose another one.',
  },
  already_reported: {
    status: 409,
    title: 'The reader has already reported this comment',
    help: 'A reader can report a comment once.',
  },

  body_too_large: { status: 413, title: 'The body is larger than 256 KiB', help: 'Send a smaller body.' },
  uri_too_long: {
    status: 414,
    title: 'The address of the request is longer than 16 KiB',
    help: 'Send a shorter address: a GraphQL document in the body of a POST, for instance.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be application/json',
    help: 'Send `Content-Type: application/json` in UTF-8, without compression.',
  },
  validation_failed: {
    status: 422,
    title: 'The request has wrong or missing values',
    help: 'Each of `errors` has the `pointer` to a wrong value, a `code` and a `message`. Correct the request; the same one fails again.',
  },

  headers_too_large: {
    status: 431,
    title: 'The headers of the request are larger than 16 KiB',
    help: 'Send fewer or shorter headers. Often these are cookies of the whole site.',
  },
  rate_limited: { status: 429, title: 'Too many requests', help: 'Wait for the time in `Retry-After`.' },
  too_many_streams: {
    status: 429,
    title: 'Too many open streams',
    help: 'Close streams, or raise the cap in `stream` of the tenant settings. Wait for the time in `Retry-After`.',
  },

  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'The service failed. Report it with the `requestId`, which is also in the log.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer now',
    help: 'The database is not available, a lock was not free in time, or the service is starting. Send the request again after `Retry-After`; an `Idempotency-Key` keeps a write from being done twice.',
  },
} as const satisfies Record<string, { status: number; title: string; help: string }>

export type ErrorCode = keyof typeof ERRORS
