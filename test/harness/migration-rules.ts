import { type AlterTableCmd, type Constraint, type DropStmt, type Node, parse } from 'libpg-query'

import { contracted, type Migration } from '../../src/data/migrations/files.ts'

/** What earlier migrations have made. */
interface Schema {
  tables: Set<string>
  /** `table.column` by the name of the constraint that says it is not null. */
  notNull: Map<string, string>
  /** `table.constraint` that every row is known to keep. */
  valid: Set<string>
}

/** One migration, as its statements are read. */
interface Script extends Schema {
  isContract: boolean
  /** Whether it copies a few rows, and does nothing else: it holds no lock that others wait for. */
  isOfFewRows: boolean
  made: Set<string>
  locked: Set<string>
  refuse(reason: string): void
}

/** Two waits for a lock, one after the other, are still much less than a second. */
const MAX_LOCKED_TABLES = 2

/**
 * Why these migrations, all that come after the first, would keep writers waiting or break the
 * version before.
 */
export async function refusals(migrations: readonly Migration[]): Promise<string[]> {
  const [first, ...rest] = migrations
  const names = migrations.map(({ name }) => name)
  const found: string[] = []
  const schema: Schema = { tables: new Set(), notNull: new Map(), valid: new Set() }
  for (const statement of await statementsOf(first?.script ?? '')) {
    if ('CreateStmt' in statement) schema.tables.add(statement.CreateStmt.relation?.relname ?? '')
  }
  const withBackfill = new Set<string>()
  for (const migration of rest) {
    const { name, script, backfill, after } = migration
    const refuse = (reason: string): void => void found.push(`${name}: ${reason}`)
    if (after !== null && !withBackfill.has(after)) refuse(`no earlier migration ${after} has a backfill.sql`)
    const needed = contracted(name)
    if (needed !== null && !names.some((one) => one < name && one.startsWith(`${needed}_`)))
      refuse(`no earlier migration begins with ${needed}`)
    await examine(script, needed !== null, schema, refuse)
    if (backfill === null) continue
    withBackfill.add(name)
    if ((await statementsOf(backfill)).length !== 1) refuse('backfill.sql is one statement')
    if (!backfill.includes('$1') || !/LIMIT \$2/i.test(backfill)) refuse('backfill.sql goes on after $1, with LIMIT $2')
  }
  return found
}

const statementsOf = async (script: string): Promise<Node[]> =>
  ((await parse(script)).stmts ?? []).flatMap(({ stmt }: { stmt?: Node }) => (stmt === undefined ? [] : [stmt]))

async function examine(text: string, isContract: boolean, schema: Schema, refuse: Script['refuse']): Promise<void> {
  const statements = await statementsOf(text)
  const script: Script = {
    ...schema,
    isContract,
    isOfFewRows: text.startsWith('-- few rows\n'),
    made: new Set(),
    locked: new Set(),
    refuse,
  }
  if (script.isOfFewRows && statements.some((statement) => !('InsertStmt' in statement)))
    refuse('`-- few rows` is for INSERT alone')
  const isConcurrent = statements.some(runsConcurrently)
  if (isConcurrent !== text.startsWith('-- concurrently\n'))
    refuse('CONCURRENTLY and a first line `-- concurrently` go together')
  if (isConcurrent && statements.length > 1) refuse('a statement with CONCURRENTLY stands alone')
  const validations = statements.filter((statement) =>
    commandsOf(statement).some(({ subtype }) => subtype === 'AT_ValidateConstraint'),
  )
  if (validations.length > 0 && validations.length < statements.length)
    refuse('VALIDATE CONSTRAINT stands alone: it reads the whole table')
  for (const statement of statements) examineStatement(statement, script)
  if (script.locked.size > MAX_LOCKED_TABLES)
    refuse(`locks ${[...script.locked].join(', ')}: ${MAX_LOCKED_TABLES} tables at most`)
  for (const table of script.made) schema.tables.add(table)
  for (const statement of validations) {
    for (const { name } of commandsOf(statement)) schema.valid.add(`${tableOf(statement)}.${name}`)
  }
}

const runsConcurrently = (statement: Node): boolean =>
  ('IndexStmt' in statement && statement.IndexStmt.concurrent === true) ||
  ('DropStmt' in statement && statement.DropStmt.concurrent === true)

const commandsOf = (statement: Node): AlterTableCmd[] =>
  'AlterTableStmt' in statement
    ? (statement.AlterTableStmt.cmds ?? []).flatMap((cmd) => ('AlterTableCmd' in cmd ? [cmd.AlterTableCmd] : []))
    : []

const tableOf = (statement: Node): string =>
  ('AlterTableStmt' in statement && statement.AlterTableStmt.relation?.relname) || ''

/** Statements that are not known to be safe are refused. */
function examineStatement(statement: Node, script: Script): void {
  const { refuse, made, locked } = script
  const isNew = (table = ''): boolean => made.has(table)
  if ('CreateStmt' in statement) {
    made.add(statement.CreateStmt.relation?.relname ?? '')
    for (const element of statement.CreateStmt.tableElts ?? []) {
      const constraints = 'ColumnDef' in element ? (element.ColumnDef.constraints ?? []) : [element]
      for (const constraint of constraints)
        if ('Constraint' in constraint) lockReferenced(constraint.Constraint, script)
    }
  } else if ('IndexStmt' in statement) {
    const { relation, concurrent, if_not_exists, unique } = statement.IndexStmt
    if (isNew(relation?.relname)) return
    if (unique === true && !script.isContract) refuse(`a new UNIQUE INDEX ${NEEDS_CONTRACT}`)
    if (concurrent !== true) refuse('CREATE INDEX without CONCURRENTLY keeps writers waiting')
    else if (if_not_exists !== true) refuse('CREATE INDEX CONCURRENTLY needs IF NOT EXISTS, to be run again')
  } else if ('AlterTableStmt' in statement) {
    const table = tableOf(statement)
    if (isNew(table)) return
    locked.add(table)
    for (const command of commandsOf(statement)) examineCommand(table, command, script)
  } else if ('CreateTrigStmt' in statement) {
    const table = statement.CreateTrigStmt.relation?.relname ?? ''
    if (!isNew(table)) locked.add(table)
  } else if ('InsertStmt' in statement) {
    const select = statement.InsertStmt.selectStmt
    const isCopy = select !== undefined && 'SelectStmt' in select && select.SelectStmt.valuesLists === undefined
    if (isCopy && !script.isOfFewRows) refuse('INSERT … SELECT reads tables while locks are held: use a backfill.sql')
  } else if ('UpdateStmt' in statement || 'DeleteStmt' in statement) {
    refuse('UPDATE and DELETE belong into a backfill.sql')
  } else if ('DropStmt' in statement) {
    if (!script.isContract && !dropsPlainIndexes(statement.DropStmt)) refuse(`DROP ${NEEDS_CONTRACT}`)
  } else if ('AlterEnumStmt' in statement) {
    if (statement.AlterEnumStmt.oldVal !== undefined && !script.isContract) refuse(`RENAME VALUE ${NEEDS_CONTRACT}`)
  } else if ('CreateFunctionStmt' in statement) {
    if (statement.CreateFunctionStmt.replace === true && !script.isContract) refuse(`OR REPLACE ${NEEDS_CONTRACT}`)
  } else if (!SAFE.some((kind) => kind in statement)) {
    refuse(`${Object.keys(statement).join()} is not known to be safe`)
  }
}

/**
 * Whether it only drops indexes that make something faster: the previous release still runs without
 * them. Indexes of constraints have other names.
 */
const dropsPlainIndexes = ({ removeType, concurrent, objects = [] }: DropStmt): boolean =>
  removeType === 'OBJECT_INDEX' &&
  concurrent === true &&
  objects.every((each) => JSON.stringify(each).endsWith('_idx"}}]}}'))

const NEEDS_CONTRACT = 'needs a folder <time>_contract_<time>: no version that still runs may depend on it'

const SAFE = ['CreateEnumStmt', 'CommentStmt', 'CreateSeqStmt', 'CreateStatsStmt']

const SAFE_COMMANDS = ['AT_DropNotNull', 'AT_ValidateConstraint', 'AT_SetRelOptions', 'AT_SetStatistics']

function examineCommand(table: string, command: AlterTableCmd, script: Script): void {
  const { subtype = '', name = '', def } = command
  const { refuse, notNull, valid } = script
  if (subtype === 'AT_AddColumn') return examineColumn(def, refuse)
  if (subtype === 'AT_AddConstraint') {
    if (def !== undefined && 'Constraint' in def) examineConstraint(table, def.Constraint, script)
  } else if (subtype === 'AT_SetNotNull') {
    const check = notNull.get(`${table}.${name}`)
    if (check === undefined || !valid.has(`${table}.${check}`))
      refuse(`SET NOT NULL on ${name} needs an earlier, validated CHECK (${name} IS NOT NULL)`)
  } else if (subtype === 'AT_DropColumn') {
    if (!script.isContract) refuse(`DROP COLUMN ${NEEDS_CONTRACT}`)
  } else if (subtype === 'AT_ColumnDefault') {
    if (def === undefined && !script.isContract) refuse(`DROP DEFAULT ${NEEDS_CONTRACT}`)
  } else if (subtype === 'AT_DropConstraint') {
    // A CHECK that only made way for SET NOT NULL.
    if (![...notNull.values()].includes(name) && !script.isContract) refuse(`DROP CONSTRAINT ${NEEDS_CONTRACT}`)
  } else if (!SAFE_COMMANDS.includes(subtype)) refuse(`${subtype} is not known to be safe`)
}

function examineColumn(def: Node | undefined, refuse: Script['refuse']): void {
  if (def === undefined || !('ColumnDef' in def)) return
  const { colname = '', typeName, constraints = [] } = def.ColumnDef
  const rules = constraints.flatMap((node) => ('Constraint' in node ? [node.Constraint] : []))
  const has = (kind: string): boolean => rules.some(({ contype }) => contype === kind)
  if (JSON.stringify(typeName ?? '').includes('serial')) refuse(`${colname}: a serial column rewrites the table`)
  if (has('CONSTR_GENERATED'))
    refuse(`${colname}: a stored generated column rewrites the table: use a backfill and a trigger`)
  if (has('CONSTR_NOTNULL') && !has('CONSTR_DEFAULT')) refuse(`${colname}: NOT NULL needs a DEFAULT`)
  for (const { contype, raw_expr } of rules) {
    if (contype === 'CONSTR_DEFAULT' && JSON.stringify(raw_expr).includes('"FuncCall"'))
      refuse(`${colname}: a computed DEFAULT may rewrite the table: set it afterwards`)
    else if (!['CONSTR_DEFAULT', 'CONSTR_NOTNULL', 'CONSTR_NULL', 'CONSTR_GENERATED'].includes(contype ?? ''))
      refuse(`${colname}: add the constraint by itself, NOT VALID`)
  }
}

function examineConstraint(table: string, constraint: Constraint, script: Script): void {
  const { contype, conname = '', skip_validation, indexname, raw_expr } = constraint
  lockReferenced(constraint, script)
  if (contype === 'CONSTR_CHECK' || contype === 'CONSTR_FOREIGN') {
    if (skip_validation !== true) script.refuse(`${conname}: ADD CONSTRAINT needs NOT VALID`)
  } else if (indexname === undefined) {
    script.refuse(`${conname}: ADD CONSTRAINT needs an index made before: USING INDEX`)
  }
  if (raw_expr === undefined || !('NullTest' in raw_expr) || raw_expr.NullTest.nulltesttype !== 'IS_NOT_NULL') return
  const { arg } = raw_expr.NullTest
  const field = arg !== undefined && 'ColumnRef' in arg ? arg.ColumnRef.fields?.[0] : undefined
  if (field !== undefined && 'String' in field) script.notNull.set(`${table}.${field.String.sval}`, conname)
}

function lockReferenced({ contype, pktable }: Constraint, { locked, made }: Script): void {
  const table = pktable?.relname ?? ''
  if (contype === 'CONSTR_FOREIGN' && !made.has(table)) locked.add(table)
}
