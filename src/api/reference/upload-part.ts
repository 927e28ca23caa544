import type { ErrorCode } from '../../core/error-table.ts'
import { refusalHeaders } from './headers.ts'
import type { Components } from './json-schema.ts'
import { securityOf } from './operations.ts'
import { headerRefs, refusalResponses } from './refusals.ts'

const CODES: readonly ErrorCode[] = [
  'ambiguous_credentials',
  'missing_credentials',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_admin_token',
  'admin_only',
  'second_factor_setup_required',
  'not_found',
  'invalid_transition',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
  'rate_limited',
  'internal',
  'unavailable',
]

const DIGEST = 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'

/** The upload of a part. It is bytes, and so no route of the table. */
export const uploadPartOperation = (components: Components) => ({
  operationId: 'putImportUploadPart',
  tags: ['imports'],
  summary: 'Upload a part of a file',
  description:
    'A part has the `partBytes` of the upload, and the last one what is left. Parts come in any order. A part that is sent again replaces the earlier one, until the upload is completed.',
  'x-access': 'admin',
  security: securityOf('admin'),
  parameters: [
    {
      name: 'id',
      in: 'path',
      required: true,
      description: 'The upload.',
      schema: { type: 'string', format: 'uuid' },
      example: '01980000-0000-7000-8000-000000000001',
    },
    {
      name: 'n',
      in: 'path',
      required: true,
      description: 'The number of the part, from 0.',
      schema: { type: 'integer', minimum: 0 },
      example: 0,
    },
    {
      name: 'Content-Digest',
      in: 'header',
      description: 'The digest of the part (RFC 9530). With `sha-256` a part that was damaged on its way is refused.',
      schema: { type: 'string' },
      example: DIGEST,
    },
  ],
  requestBody: {
    required: true,
    content: { 'application/octet-stream': { schema: { type: 'string' }, example: '…' } },
  },
  responses: {
    204: { description: 'The part is stored.', headers: headerRefs(['X-Request-Id']) },
    ...refusalResponses(CODES, (code) => refusalHeaders(code, false, false), components),
  },
})
