/**
 * Every error that a caller can meet: code → HTTP status, public text, and help that says when a
 * caller gets it and what to do (docs/reference/errors.md). The help is the `detail` of a problem
 * that has no other: it says more than the title.
 */
export const ERRORS = {
  malformed_json: {
    status: 400,
    title: 'The request cannot be read',
    help: 'The body is not one JSON value in UTF-8, or the request is not valid HTTP.',
  },
  ambiguous_credentials: {
    status: 400,
    title: 'Send an API key in X-API-Key or an admin token in Authorization, not both',
    help: "The request has two kinds of credentials, such as a key in `X-API-Key` and a token in `Authorization`, a client token and an assertion, or another one beside the console's cookie. Remove one.",
  },

  missing_credentials: {
    status: 401,
    title: 'This request needs an API key in X-API-Key, or an admin token in Authorization',
    help: 'The route needs a caller. Send an API key in `X-API-Key`, or an admin token in `Authorization`.',
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
    help: 'The e-mail address or the password is wrong, or the token has ended: it has expired, the member signed out, or their password, role or state was changed. Sign in again.',
  },
  second_factor_required: {
    status: 401,
    title: 'The login needs a second factor',
    help: 'The password is right, and the account has a second factor. Send the `code` of the app, or a recovery code, with it.',
  },
  invalid_second_factor: {
    status: 401,
    title: 'The code of the second factor is not valid',
    help: 'The code is wrong, too old, or was used before. Send the next one of the app.',
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
    help: 'The signature, a header or a claim of the assertion, or of the token that the page of a [site](choices/sites.md#its-readers) sends, is wrong. The [test vectors](../../vectors/README.md) show valid and invalid assertions.',
  },
  expired_identity: {
    status: 401,
    title: 'The identity assertion has expired',
    help: 'The `exp` of the assertion is over. Sign a new one.',
  },

  tenant_suspended: {
    status: 403,
    title: 'The tenant is suspended',
    help: 'The operator of the service has suspended the tenant. The credentials are valid again once it is resumed.',
  },
  missing_capability: {
    status: 403,
    title: 'The caller lacks a capability',
    help: 'Use a key that has it, or a member whose role has it. A client token can ask only what the [guide](../guides/graphql/client.md#what-a-token-may-ask) lists. A site with `posting` off takes no writes.',
  },
  capability_escalation: {
    status: 403,
    title: 'A caller can grant only capabilities that it holds itself',
    help: 'A key or member made a key with more capabilities than their own. Use the token of an owner or admin.',
  },
  admin_only: {
    status: 403,
    title: 'Only an admin may do this',
    help: 'The route takes an admin token, not an API key, and most of these that of an owner or admin.',
  },
  second_factor_setup_required: {
    status: 403,
    title: 'The tenant requires a second factor',
    help: 'The tenant has `staff.requireTwoFactor`, and the member has no second factor. They can only set one up: `POST /admin/auth/totp`.',
  },
  sign_on_required: {
    status: 403,
    title: 'Members of the tenant sign in at its identity provider',
    help: 'The tenant has `staff.oidc.only`: passwords are for owners alone. Open `GET /admin/auth/oidc/start?tenant=` in a browser, or the console.',
  },
  password_required: {
    status: 403,
    title: 'This needs a sign-in with a password',
    help: 'The token comes from a sign-on at the identity provider of the tenant. It is of this tenant alone, and changes no password and no second factor.',
  },
  identity_required: {
    status: 403,
    title: "Writes on a reader's behalf need an identity assertion",
    help: 'Send the assertion of the reader in `X-Service-Identity`, or mint the client token with it. The page of a site sends a token of the issuer.',
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
    help: 'Add the origin of the page to `allowedOrigins` in the tenant settings, or to the origins of its site.',
  },

  guests_disabled: {
    status: 403,
    title: 'The site takes no guests',
    help: 'The site has `guests` off or `posting` off, or the tenant lacks `guests.mailUrl` or a mail secret: see [guests](../guides/guests.md).',
  },
  guest_on_hold: {
    status: 403,
    title: 'A comment of the guest must be approved first',
    help: 'Fewer comments of the guest were approved than the setting `guests.hold` asks for. Until then nothing of theirs reaches the public: see [guests](../guides/guests.md).',
  },
  invalid_proof: {
    status: 403,
    title: 'The proof of work is not valid',
    help: 'The proof solves no challenge of this site, its challenge has expired, or it was used before. Get a new challenge.',
  },
  invalid_guest_token: {
    status: 403,
    title: 'The link is not valid any more',
    help: 'The token of the link is wrong, was used before, or is older than 30 minutes. Ask for another mail.',
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
    help: 'The state of the resource does not allow this, or it has changed since it was read. Read it again.',
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
  site_budget_exhausted: {
    status: 409,
    title: 'The tenant has as many sites as there can be',
    help: 'A tenant has at most 50 sites. Delete one, or add the origin to an existing one.',
  },
  last_owner: {
    status: 409,
    title: 'The tenant needs an owner',
    help: 'The last owner cannot be removed, disabled or given another role. Make another member an owner first.',
  },
  tenant_required: {
    status: 409,
    title: 'The account is a member of several tenants',
    help: 'Send the `slug` of one of `tenants` as `tenant`.',
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
  slow_mode: {
    status: 429,
    title: 'The reader has commented in this discussion just now',
    help: 'The discussion is in slow mode: each reader can post one comment in a while. Wait for the time in `Retry-After`.',
  },
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
    help: 'The database is not available, a lock was not free in time, the service is starting, or it lacks an encryption key. Send the request again after `Retry-After`; an `Idempotency-Key` keeps a write from being done twice.',
  },
} as const satisfies Record<string, { status: number; title: string; help: string }>

export type ErrorCode = keyof typeof ERRORS
