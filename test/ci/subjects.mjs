// subjects.mjs: ends with 1 where the subject of a new commit has more than 72 characters. New are
// those since the newest tag, and the last 50 at most: older ones came before the rule, and a
// shallow clone has only some.
import { spawnSync } from 'node:child_process'

const MAX_LENGTH = 72
const MAX_COMMITS = 50

/** What git prints; empty where it fails, as without a tag or outside of a repository. */
const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim() ?? ''

const tag = git('describe', '--tags', '--abbrev=0')
const commits = git(
  'log',
  '--no-merges',
  `--max-count=${MAX_COMMITS}`,
  '--format=%h %s',
  tag === '' ? 'HEAD' : `${tag}..HEAD`,
)
const long = commits.split('\n').filter((line) => line.slice(line.indexOf(' ') + 1).length > MAX_LENGTH)
for (const line of long) console.error(`The subject has more than ${MAX_LENGTH} characters: ${line}`)
process.exit(long.length === 0 ? 0 : 1)
