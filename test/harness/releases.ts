import { type Migration, parseMigration, readMigrations } from '../../src/data/migrations/files.ts'

const NIL = '00000000-0000-0000-0000-000000000000'

/**
 * A column that a later release has, for every comment: expanded, filled and contracted without
 * keeping writers waiting.
 */
const LANGUAGES: readonly Migration[] = [
  parseMigration(
    '29990101000000_languages',
    `CREATE TABLE languages (code text PRIMARY KEY);
     INSERT INTO languages (code) VALUES ('und'), ('en');
     ALTER TABLE comments ADD COLUMN language text;
     -- Only for new rows: the version before does not know the column.
     ALTER TABLE comments ALTER COLUMN language SET DEFAULT 'und';`,
    `WITH batch AS (
       SELECT tenant_id, id FROM comments
       WHERE (tenant_id, id) > (coalesce($1::jsonb ->> 0, '${NIL}')::uuid, coalesce($1::jsonb ->> 1, '${NIL}')::uuid)
       ORDER BY tenant_id, id LIMIT $2
     ),
     changed AS (
       UPDATE comments c SET language = 'und' FROM batch b
       WHERE c.tenant_id = b.tenant_id AND c.id = b.id AND c.language IS NULL
       RETURNING 1
     )
     SELECT (SELECT jsonb_build_array(tenant_id, id) FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1) AS last,
       (SELECT count(*)::int FROM changed) AS changed`,
  ),
  parseMigration(
    '29990201000000_language_rules',
    `-- after backfill 29990101000000_languages
     ALTER TABLE comments ADD CONSTRAINT comments_language_set CHECK (language IS NOT NULL) NOT VALID;
     ALTER TABLE comments ADD CONSTRAINT comments_language_fkey FOREIGN KEY (language) REFERENCES languages (code) NOT VALID;`,
  ),
  parseMigration(
    '29990201000100_language_rules_valid',
    `ALTER TABLE comments VALIDATE CONSTRAINT comments_language_set;
     ALTER TABLE comments VALIDATE CONSTRAINT comments_language_fkey;`,
  ),
  parseMigration(
    '29990201000200_language_not_null',
    `ALTER TABLE comments ALTER COLUMN language SET NOT NULL;
     ALTER TABLE comments DROP CONSTRAINT comments_language_set;`,
  ),
  parseMigration(
    '29990201000300_language_index',
    `-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS comments_language ON comments (tenant_id, language, id);`,
  ),
]

/** A release with another renderer: workers render the comments again, if there are any. */
export const RENDERER: Migration = parseMigration(
  '29990301000000_renderer',
  `INSERT INTO backfills (name, completed_at) VALUES
     ('29990301000000_renderer', CASE WHEN EXISTS (SELECT FROM comments) THEN NULL ELSE CURRENT_TIMESTAMP END);`,
)

/** The release after this one. */
export const NEXT_RELEASE: readonly Migration[] = [...readMigrations(), ...LANGUAGES]
