import type { ErrorCode } from '../../core/errors.ts'

/** When a caller gets an error, and what to do. Shown in `docs/reference/errors.md`. */
export const ERROR_HELP: Readonly<Record<ErrorCode, string>> = {
  malformed_json: 'The body is not one JSON value in UTF-8, or the request is not valid HTTP. `detail` says which.',
  ambiguous_credentials:
    'The request has two kinds of credentials, such as a key and a token, or a client token and an assertion. Remove one.',
  missing_credentials: 'The route needs a caller. Send an API key or an admin token.',
  invalid_api_key:
    'No tenant has this key, or it is not `ek_` and 64 hex characters. Check that the whole key is sent.',
  expired_api_key: 'The key has expired. Create another key.',
  revoked_api_key: 'The key was revoked. Create another key.',
  invalid_admin_token:
    'The e-mail address or the password is wrong, or the token has expired or was ended by a change of the password. Sign in again.',
  invalid_ticket: 'The ticket is not one of this service, or is for another discussion. Mint a new ticket.',
  expired_ticket: 'Tickets open a stream for a short time only (`ticket` in the tenant settings). Mint a new ticket.',
  invalid_client_token:
    'The token is not one of this service, or it has ended: its key was revoked, or its reader was banned, erased or merged. Get a new one from your backend.',
  expired_client_token: 'A client token lives for an hour at most. Get a new one from your backend.',
  invalid_identity:
    'The signature, a header or a claim of the assertion is wrong. `detail` names it. The [test vectors](../../vectors/README.md) show valid and invalid assertions.',
  expired_identity: 'The `exp` of the assertion is over. Sign a new one.',
  missing_capability:
    '`detail` names the capability: use a key that has it. A client token can ask only what the [guide](../guides/graphql/README.md#a-browser) lists.',
  capability_escalation: 'A key made or changed another key with more capabilities than its own. Use an admin token.',
  admin_only: 'The route takes an admin token, not an API key.',
  identity_required: 'Send the assertion of the reader in `X-Service-Identity`, or mint the client token with it.',
  reader_banned: 'The reader cannot write while the ban is in force. Show them `ban` of `GET /readers/me`.',
  not_author: 'The asserted reader has not written this comment.',
  edit_window_closed: 'The edit window of the comment (`editWindowSeconds` of the tenant settings) is over.',
  origin_not_allowed: 'Add the origin of the page to `allowedOrigins` in the tenant settings.',
  not_found: 'The id or path does not exist, belongs to another tenant, or is not visible to the caller.',
  unknown_document:
    'The tenant has no document of this id, or `graphql.documents` is `known` and this text is not one of them. Add it by `POST /documents` or `cli documents add`.',
  method_not_allowed: 'The header `Allow` lists the methods that the path takes.',
  not_acceptable:
    'Accept `application/graphql-response+json` or `application/json`; a subscription takes `text/event-stream`.',
  request_timeout: 'The request came too slowly. Send it again.',
  discussion_locked: 'Readers cannot write while the discussion is locked. A moderator can unlock it.',
  discussion_archived: 'An archived discussion cannot be changed. This is final.',
  invalid_transition:
    'The state of the resource does not allow this, or it has changed since it was read. Read it again; `detail` says why.',
  key_budget_exhausted: 'Revoke a key, or raise `activeKeyBudget` in the tenant settings.',
  endpoint_budget_exhausted: 'Delete an endpoint, or raise `webhookEndpoints` in the tenant settings.',
  idempotency_conflict: 'Use a new key for each new request. Only repeat the same request with the same key.',
  idempotency_in_progress: 'Wait for the time in `Retry-After`, and send the same request again.',
  document_conflict: 'The id names another text already. Delete that document, or give this one another id.',
  external_id_taken: 'Another discussion has this external id, or had it in the last year: choose another one.',
  already_reported: 'A reader can report a comment once.',
  body_too_large: 'Send a smaller body.',
  uri_too_long: 'Send a shorter address: a GraphQL document in the body of a POST, for instance.',
  unsupported_media_type: 'Send `Content-Type: application/json` in UTF-8, without compression.',
  validation_failed:
    'Each of `errors` has the `pointer` to a wrong value, a `code` and a `message`. Correct the request; the same one fails again.',
  headers_too_large: 'Send fewer or shorter headers. Often these are cookies of the whole site.',
  rate_limited: 'Wait for the time in `Retry-After`.',
  too_many_streams:
    'Close streams, or raise the cap in `stream` of the tenant settings. Wait for the time in `Retry-After`.',
  internal: 'The service failed. Report it with the `requestId`, which is also in the log.',
  unavailable:
    'The database is not available, a lock was not free in time, or the service is starting. Send the request again after `Retry-After`; an `Idempotency-Key` keeps a write from being done twice.',
}
