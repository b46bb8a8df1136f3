/** Goal: what `docs/api.md` promises is what the code does: errors, scopes and limits. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ERRORS } from '../../src/errors.ts'
import {
  EVENTS_PAGE_BYTES_MAX,
  EVENTS_PAGE_DEFAULT,
  EVENTS_PAGE_MAX,
  EXPORTS_MAX,
  FACET_FIELDS_MAX,
  FACET_VALUES_DEFAULT,
  FACET_VALUES_MAX,
  FIELD_SAMPLES_MAX,
  FIELDS_PAGE_DEFAULT,
  FIELDS_PAGE_MAX,
  KEYS_PER_STREAM_MAX,
  NAME_CHARS_MAX,
  QUERY_DISTINCT_MAX,
  QUERY_GROUPS_MAX,
  QUERY_MS_MAX,
  QUERY_RESULT_BYTES_MAX,
  REDACT_FIELD_CHARS_MAX,
  REDACT_FIELDS_MAX,
  REVIEW_DAMAGED_MAX,
  REVIEW_EVENT_IDS_MAX,
  REVIEW_EVENTS_MAX,
  REVIEW_MS_MAX,
  REVIEW_PATHS_HELD_MAX,
  REVIEW_PATHS_MAX,
  REVIEW_SAMPLES_MAX,
  SCHEMA_CAP_MAX,
  SEARCH_FIELDS_MAX,
  SEARCH_PENDING_EVENTS_MAX,
  SHAPE_PATHS_BYTES_MAX,
  SHAPES_PAGE_DEFAULT,
  SHAPES_PAGE_MAX,
  STATS_TOP_DEFAULT,
  STATS_TOP_MAX,
} from '../../src/limits.ts'
import { SCOPES } from '../../src/model/stream.ts'
import { LAG_SEGMENTS_MAX } from '../../src/store/raw/usage-store.ts'
import { SAMPLE_BYTES_MAX } from '../../workers/schema/shape-leaves.ts'

// Tests run from `dist/`.
const text = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')

test('the error table is the one of the code', () => {
  const rows = [...text.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \| (yes|no) \| (.+) \|$/gm)]
  const documented = rows.map(([, code, status, retry, title]) => {
    return { code, httpStatus: Number(status), retryable: retry === 'yes', title }
  })
  const actual = Object.entries(ERRORS).map(([code, error]) => ({ code, ...error }))
  assert.deepEqual(documented, actual)
})

test('the scopes are those of the code', () => {
  const section = text.slice(text.indexOf('| Scope | Allows |'), text.indexOf('## Errors'))
  const documented = [...section.matchAll(/^\| `([a-z:]+)` \|/gm)].map(([, scope]) => scope)
  assert.deepEqual(documented, SCOPES)
})

test('the limits are those of the code', () => {
  const count = (value: number) => value.toLocaleString('en')
  // Rows of tables that are made from the routes (api-tables.test.ts).
  const limitRow = (most: number, given: number, about: string) =>
    `| \`limit\` | integer, 1 to ${count(most)} | \`${given}\` | ${about}`
  const sentences = [
    limitRow(EVENTS_PAGE_MAX, EVENTS_PAGE_DEFAULT, 'Events of a page'),
    limitRow(FIELDS_PAGE_MAX, FIELDS_PAGE_DEFAULT, 'Fields of a page'),
    limitRow(SHAPES_PAGE_MAX, SHAPES_PAGE_DEFAULT, 'Shapes of a page'),
    limitRow(STATS_TOP_MAX, STATS_TOP_DEFAULT, 'How many of the most frequent values'),
    limitRow(QUERY_GROUPS_MAX, 100, 'Groups in the answer'),
    limitRow(FACET_VALUES_MAX, FACET_VALUES_DEFAULT, 'How many values of each field'),
    limitRow(REVIEW_EVENTS_MAX, REVIEW_EVENTS_MAX, 'Events to look at'),
    `| list of up to ${SEARCH_FIELDS_MAX} strings |  | Paths that records have`,
    `| list of up to ${FACET_FIELDS_MAX} strings |`,
    `1 to ${NAME_CHARS_MAX} characters`,
    `at most ${REDACT_FIELDS_MAX}, of at most ${REDACT_FIELD_CHARS_MAX} characters`,
    `most ${count(KEYS_PER_STREAM_MAX)} live keys`,
    `ends at about ${EVENTS_PAGE_BYTES_MAX / 2 ** 20} MiB`,
    `more than ${count(SEARCH_PENDING_EVENTS_MAX)} events wait`,
    `At most ${EXPORTS_MAX} exports run`,
    `takes at most ${QUERY_MS_MAX / 1_000} seconds, builds`,
    `builds at most ${count(QUERY_DISTINCT_MAX)} groups`,
    `answers with at most ${QUERY_RESULT_BYTES_MAX / 2 ** 20} MiB`,
    `up to ${FIELD_SAMPLES_MAX} distinct values of at most ${SAMPLE_BYTES_MAX} bytes`,
    `1 to ${count(SCHEMA_CAP_MAX)} |`,
    `at most ${SHAPE_PATHS_BYTES_MAX / 1_024} KiB\nof paths`,
    `at most ${REVIEW_PATHS_MAX}, past them`,
    `over ${count(REVIEW_PATHS_HELD_MAX)} paths`,
    `up to ${REVIEW_SAMPLES_MAX} different ones, masked`,
    `up to ${REVIEW_EVENT_IDS_MAX} events with such a value`,
    `${REVIEW_MS_MAX / 1_000} seconds were over`,
    `names the first ${REVIEW_DAMAGED_MAX}`,
    `among the newest ${count(LAG_SEGMENTS_MAX)} segments`,
  ]
  for (const sentence of sentences) assert.ok(text.includes(sentence), sentence)
})
