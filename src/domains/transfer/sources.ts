import type { Source } from './item.ts'
import { artrans } from './sources/artrans.ts'
import { commento } from './sources/commento.ts'
import { coral } from './sources/coral.ts'
import { disqus } from './sources/disqus.ts'
import { isso } from './sources/isso.ts'
import { jsonl } from './sources/jsonl.ts'
import { remark42 } from './sources/remark42.ts'
import { wordpress } from './sources/wordpress.ts'

/** What an import reads, by the name that `--from` has. */
export const SOURCES = {
  disqus,
  wordpress,
  coral,
  remark42,
  commento,
  isso,
  artrans,
  jsonl,
} as const satisfies Record<string, Source>

export type SourceName = keyof typeof SOURCES
