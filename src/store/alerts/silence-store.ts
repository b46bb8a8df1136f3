/**
 * Silences, and groups that somebody knows of. What they hold back is looked at again as soon as
 * one is made or ends. Throws `StoreError`.
 */
import { IngestError } from '../../errors.ts'
import { ALERT_SILENCES_MAX } from '../../limits.ts'
import type { Postgres, Queryable } from '../postgres.ts'

export interface SilenceMatcher {
  /** Of a label. */
  readonly name: string
  readonly value: string
  readonly is_regex: boolean
  readonly is_equal: boolean
}

export interface Silence {
  readonly silenceId: number
  /** Whose alerts are silenced, and who made it. */
  readonly owner: string
  readonly matchers: readonly SilenceMatcher[]
  readonly fromMs: number
  readonly untilMs: number
  readonly comment: string
  readonly createdAtMs: number
  readonly state: SilenceState
}

export type SilenceState = 'active' | 'pending' | 'expired'

export interface Acknowledgement {
  readonly fingerprint: string
  readonly author: string
  readonly comment: string
  readonly atMs: number
}

interface SilenceRow {
  readonly silence_id: number
  readonly owner: string
  readonly matchers: string
  readonly from_ms: number
  readonly until_ms: number
  readonly comment: string
  readonly created_at_ms: number
  readonly state: SilenceState
}

const msOf = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`
const STATE = `CASE WHEN until_at <= clock_timestamp() THEN 'expired'
  WHEN from_at > clock_timestamp() THEN 'pending' ELSE 'active' END`
const COLUMNS = `silence_id, owner, matchers, comment, ${msOf('from_at')} AS from_ms,
  ${msOf('until_at')} AS until_ms, ${msOf('created_at')} AS created_at_ms, ${STATE} AS state`
/** Any number. */
const CREATE_LOCK = 7_105_116

export class SilenceStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Without a beginning it begins now. Throws `conflict` past ALERT_SILENCES_MAX. */
  async make(silence: {
    readonly owner: string
    readonly matchers: readonly SilenceMatcher[]
    readonly fromMs: number | undefined
    readonly untilMs: number
    readonly comment: string
  }): Promise<Silence> {
    const { owner, matchers, fromMs, untilMs, comment } = silence
    return await this.#postgres.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [CREATE_LOCK])
      const { rows: counts } = await client.query<{ readonly count: number }>(
        `SELECT count(*)::integer AS count FROM alert_silences
          WHERE owner = $1 AND until_at > clock_timestamp()`,
        [owner],
      )
      if (counts[0]!.count >= ALERT_SILENCES_MAX) {
        const limit = `ALERT_SILENCES_MAX (${ALERT_SILENCES_MAX})`
        throw new IngestError('conflict', `the owner already has ${limit} silences`)
      }
      const at = (place: number) => `to_timestamp($${place}::float8 / 1000)`
      const { rows } = await client.query<SilenceRow>(
        `INSERT INTO alert_silences (owner, matchers, from_at, until_at, comment)
         VALUES ($1, $2, COALESCE(${at(3)}, clock_timestamp()), ${at(4)}, $5) RETURNING ${COLUMNS}`,
        [owner, JSON.stringify(matchers), fromMs ?? null, untilMs, comment],
      )
      return toSilence(rows[0]!)
    })
  }

  /** Of one owner, or of all, by their ids. */
  async list(
    owner: string | undefined,
    state: SilenceState | undefined,
    page: { readonly after: number; readonly limit: number },
  ): Promise<Silence[]> {
    const { rows } = await this.#postgres.query<SilenceRow>(
      `SELECT ${COLUMNS} FROM alert_silences WHERE silence_id > $1
          AND ($2::text IS NULL OR owner = $2) AND ($4::text IS NULL OR ${STATE} = $4)
        ORDER BY silence_id LIMIT $3`,
      [page.after, owner ?? null, page.limit, state ?? null],
    )
    return rows.map(toSilence)
  }

  async find(owner: string | undefined, silenceId: number): Promise<Silence | undefined> {
    const { rows } = await this.#postgres.query<SilenceRow>(
      `SELECT ${COLUMNS} FROM alert_silences
        WHERE silence_id = $1 AND ($2::text IS NULL OR owner = $2)`,
      [silenceId, owner ?? null],
    )
    return rows[0] && toSilence(rows[0])
  }

  /** Ends it now, also one that is over. False when there is none. */
  async end(owner: string | undefined, silenceId: number): Promise<boolean> {
    const { rowCount } = await this.#postgres.query(
      `WITH ended AS (
         UPDATE alert_silences SET until_at = LEAST(until_at, clock_timestamp()),
           from_at = LEAST(from_at, clock_timestamp())
         WHERE silence_id = $1 AND ($2::text IS NULL OR owner = $2) RETURNING owner),
       looked AS (
         UPDATE alert_queues SET next_at = clock_timestamp()
         WHERE (rule_id, channel) IN (
           SELECT rule_id, channel FROM alert_queues
            WHERE is_held AND owner IN (SELECT owner FROM ended)
            ORDER BY rule_id, channel FOR UPDATE))
       SELECT 1 FROM ended`,
      [silenceId, owner ?? null],
    )
    return rowCount > 0
  }

  /** Until the group is resolved. False when it does not fire. */
  async acknowledge(
    ruleId: number,
    fingerprint: string,
    by: { readonly author: string; readonly comment: string },
  ): Promise<boolean> {
    const { rowCount } = await this.#postgres.query(
      `INSERT INTO alert_acknowledgements (rule_id, fingerprint, author, comment)
       SELECT rule_id, fingerprint, $3, $4 FROM alert_states
        WHERE rule_id = $1 AND fingerprint = $2 AND state = 'firing' FOR SHARE
       ON CONFLICT (rule_id, fingerprint) DO UPDATE SET author = $3, comment = $4,
         created_at = now()`,
      [ruleId, fingerprint, by.author, by.comment],
    )
    return rowCount > 0
  }

  /** False when it was not acknowledged. */
  async forgetAcknowledged(ruleId: number, fingerprint: string): Promise<boolean> {
    const { rowCount } = await this.#postgres.query(
      `WITH gone AS (
         DELETE FROM alert_acknowledgements WHERE rule_id = $1 AND fingerprint = $2
         RETURNING rule_id),
       looked AS (
         UPDATE alert_queues SET next_at = clock_timestamp()
         WHERE (rule_id, channel) IN (
           SELECT rule_id, channel FROM alert_queues
            WHERE rule_id IN (SELECT rule_id FROM gone) ORDER BY channel FOR UPDATE))
       SELECT 1 FROM gone`,
      [ruleId, fingerprint],
    )
    return rowCount > 0
  }

  /** What holds back alerts of a rule now. */
  async readHolding(owner: string, ruleId: number): Promise<Holding> {
    return await readHolding(this.#postgres, owner, ruleId)
  }
}

/** What holds back alerts of a rule. */
export interface Holding {
  readonly silences: readonly Silence[]
  readonly acknowledged: ReadonlyMap<string, Acknowledgement>
}

export async function readHolding(sql: Queryable, owner: string, ruleId: number): Promise<Holding> {
  const { rows } = await sql.query<SilenceRow>(
    `SELECT ${COLUMNS} FROM alert_silences WHERE owner = $1 AND until_at > clock_timestamp()
        AND from_at <= clock_timestamp() ORDER BY silence_id`,
    [owner],
  )
  const { rows: known } = await sql.query<{
    readonly fingerprint: string
    readonly author: string
    readonly comment: string
    readonly at_ms: number
  }>(
    `SELECT fingerprint, author, comment, ${msOf('created_at')} AS at_ms
       FROM alert_acknowledgements WHERE rule_id = $1`,
    [ruleId],
  )
  return {
    silences: rows.map(toSilence),
    acknowledged: new Map(
      known.map(({ fingerprint, author, comment, at_ms: atMs }) => {
        return [fingerprint, { fingerprint, author, comment, atMs }]
      }),
    ),
  }
}

function toSilence(row: SilenceRow): Silence {
  return {
    silenceId: row.silence_id,
    owner: row.owner,
    matchers: JSON.parse(row.matchers) as SilenceMatcher[],
    fromMs: row.from_ms,
    untilMs: row.until_ms,
    comment: row.comment,
    createdAtMs: row.created_at_ms,
    state: row.state,
  }
}
