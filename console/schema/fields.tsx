import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { callText } from '../base/api.ts'
import { findFields } from '../base/catalog.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { formatCount, formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { href, route, setParams } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'
import { type FieldInfo, FieldRow } from './field-row.tsx'
import { ResolveDialog } from './resolve-dialog.tsx'

interface FieldPage {
  readonly fields: readonly FieldInfo[]
  readonly next: string | null
}

/** Shown at first, and added by each click. */
const PAGE_FIELDS = 500
/** Fields are learned while one looks. */
const REFRESH_MS = 5_000

export function Fields({ streamId }: { streamId: string }) {
  const { params } = route.value
  const only = params.get('field') ?? undefined
  const part = params.get('contains') ?? params.get('prefix') ?? ''
  const isConflictsOnly = params.get('conflict') === 'true'
  const turn = useSignal(0)
  const shown = useSignal(PAGE_FIELDS)
  const query = {
    contains: only === undefined ? part || undefined : undefined,
    prefix: only,
    conflict: isConflictsOnly && only === undefined ? true : undefined,
  }
  const count = only === undefined ? shown.value : 1
  const { value, failure, isLoading } = useLoaded(
    JSON.stringify([streamId, query, count]),
    (signal) => loadFields(streamId, query, count, signal),
    { turn, refreshMs: REFRESH_MS },
  )
  // Others may begin with the path, too.
  const fields = value?.fields.filter(({ path }) => only === undefined || path === only)
  return (
    <>
      {only === undefined ? (
        <div class="inline toolbar">
          <input
            type="search"
            aria-label="Only paths that have this"
            placeholder="a part of the path…"
            value={part}
            onInput={(event) => {
              setParams({ contains: event.currentTarget.value, prefix: undefined }, 'replace')
            }}
          />
          <label class="inline">
            <input
              type="checkbox"
              checked={isConflictsOnly}
              onChange={(event) =>
                setParams({ conflict: event.currentTarget.checked ? 'true' : undefined })
              }
            />
            Type conflicts only
          </label>
          <span class="quiet" role="status">
            {value === undefined && isLoading ? 'Loading…' : value && countText(value)}
          </span>
        </div>
      ) : (
        <p>
          <a href={href('schema', streamId)}>All fields</a>
        </p>
      )}
      {failure !== undefined && <Failure text={failure} />}
      {fields?.length === 0 && <NoFields streamId={streamId} part={only ?? part} />}
      {fields !== undefined && fields.length > 0 && (
        <FieldTable
          key={only}
          fields={fields}
          streamId={streamId}
          isAlone={only !== undefined}
          onResolved={() => {
            turn.value++
          }}
        />
      )}
      {value !== undefined && value.next !== null && only === undefined && (
        <p class="more">
          <button type="button" onClick={() => (shown.value += PAGE_FIELDS)}>
            Show {PAGE_FIELDS} more
          </button>
        </p>
      )}
    </>
  )
}

/** Why there are none, and which are near. */
function NoFields({ streamId, part }: { streamId: string; part: string }) {
  const { value } = useLoaded(`${streamId} ${part}`, (signal) =>
    findFields(streamId, part, { objects: true }, signal),
  )
  if (part === '') return <p class="empty">No event has come yet, or no field is like that.</p>
  const { fields = [], nearest = [], complete = true } = value ?? {}
  const isElsewhere = fields.length > 0
  return (
    <div class="empty">
      <p>
        {isElsewhere ? 'No field with a type conflict has ' : 'No field has '}
        <bdi class="mono">{visibleLine(part)}</bdi>
        {!complete && '; not all fields of this stream were learned'}
      </p>
      {nearest.length > 0 && (
        <p class="inline">
          Perhaps:
          {nearest.map(({ path }) => (
            <a key={path} class="mono" href={href('schema', streamId, { field: path })}>
              <bdi>{visibleLine(path)}</bdi>
            </a>
          ))}
        </p>
      )}
    </div>
  )
}

/** The first `count`, page by page. */
async function loadFields(
  streamId: string,
  query: Readonly<Record<string, string | boolean | undefined>>,
  count: number,
  signal: AbortSignal,
): Promise<FieldPage> {
  const fields: FieldInfo[] = []
  let next: string | null = null
  do {
    const page: FieldPage = readPage(
      await callText(`streams/${streamId}/fields`, {
        query: { ...query, limit: count - fields.length, after: next ?? undefined },
        signal,
      }),
    )
    fields.push(...page.fields)
    next = page.next
  } while (next !== null && fields.length < count)
  return { fields, next }
}

function readPage(text: string): FieldPage {
  const members = jsonObject(wholeJson(text))
  const fields = [...jsonElements(members.get('fields')!)].map((field) => {
    const samples = jsonObject(field).get('samples')
    const known = JSON.parse(jsonText(field)) as FieldInfo
    return { ...known, samples: samples ? [...jsonElements(samples)].map(jsonText) : [] }
  })
  return { fields, next: JSON.parse(jsonText(members.get('next')!)) as string | null }
}

function countText({ fields, next }: FieldPage): string {
  const count = formatCount(fields.length)
  return next === null ? formatOf(fields.length, 'field') : `the first ${count} fields; more follow`
}

interface TableProps {
  readonly fields: readonly FieldInfo[]
  readonly streamId: string
  /** There is one, which the page is about. */
  readonly isAlone: boolean
  readonly onResolved: () => void
}

function FieldTable({ fields, streamId, isAlone, onResolved }: TableProps) {
  const resolving = useSignal<string | undefined>(undefined)
  const asked = fields.find(({ path }) => path === resolving.value)
  return (
    <div class="scroll">
      {asked !== undefined && (
        <ResolveDialog
          field={asked}
          streamId={streamId}
          onResolved={onResolved}
          onClose={() => {
            resolving.value = undefined
          }}
        />
      )}
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Path</th>
            <th scope="col">Types</th>
            <th scope="col" class="number">
              Events
            </th>
            <th scope="col">Samples</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <FieldRow
              key={field.path}
              field={field}
              streamId={streamId}
              isAlone={isAlone}
              onResolve={() => {
                resolving.value = field.path
              }}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}
