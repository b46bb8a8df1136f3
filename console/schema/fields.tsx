import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { call, callText, failureText } from '../base/api.ts'
import { jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { formatAgo, formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { may } from '../base/rights.ts'
import { listText, readList, route, setParams } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { FieldDetails } from './field-details.tsx'

export interface FieldInfo {
  readonly path: string
  readonly types: readonly string[]
  readonly conflict: boolean
  readonly first_seen_at: string
  readonly last_seen_at: string
  readonly resolved_at: string | null
  /** As JSON, every digit kept. */
  readonly samples: readonly string[]
  readonly samples_withheld?: boolean
}

interface FieldPage {
  readonly fields: readonly FieldInfo[]
  readonly next: string | null
}

const SHOWN_MAX = 500
/** Fields are learned while one looks. */
const REFRESH_MS = 5_000

export function Fields({ streamId }: { streamId: string }) {
  const { params } = route.value
  const prefix = params.get('prefix') ?? ''
  const isConflictsOnly = params.get('conflict') === 'true'
  const turn = useSignal(0)
  const { value, failure, isLoading } = useLoaded(
    `${streamId} ${prefix} ${isConflictsOnly}`,
    async (signal) => {
      const query = {
        limit: SHOWN_MAX,
        prefix: prefix || undefined,
        conflict: isConflictsOnly ? true : undefined,
      }
      return readPage(await callText(`streams/${streamId}/fields`, { query, signal }))
    },
    { turn, refreshMs: REFRESH_MS },
  )
  return (
    <>
      <div class="inline toolbar">
        <input
          type="search"
          aria-label="Only paths that begin with"
          placeholder="paths that begin with…"
          value={prefix}
          onInput={(event) => setParams({ prefix: event.currentTarget.value }, 'replace')}
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
      {failure !== undefined && <Failure text={failure} />}
      {value !== undefined &&
        (value.fields.length === 0 ? (
          <p class="empty">
            {prefix || isConflictsOnly ? 'No field is like that.' : 'No event has come yet.'}
          </p>
        ) : (
          <FieldTable
            fields={value.fields}
            streamId={streamId}
            onResolved={() => {
              turn.value++
            }}
          />
        ))}
    </>
  )
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
  return next === null ? `${count} fields` : `the first ${count} fields; type to see others`
}

interface TableProps {
  readonly fields: readonly FieldInfo[]
  readonly streamId: string
  readonly onResolved: () => void
}

function FieldTable({ fields, streamId, onResolved }: TableProps) {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Path</th>
            <th scope="col">Types</th>
            <th scope="col">Samples</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <FieldRow key={field.path} field={field} streamId={streamId} onResolved={onResolved} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  readonly field: FieldInfo
  readonly streamId: string
  readonly onResolved: () => void
}

function FieldRow({ field, streamId, onResolved }: RowProps) {
  const open = readList(route.value.params.get('field'))
  const isOpen = open.includes(field.path)
  const toggle = () => {
    const others = open.filter((path) => path !== field.path)
    setParams({ field: listText(isOpen ? others : [...others, field.path]) }, 'replace')
  }
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" class="plain path" aria-expanded={isOpen} onClick={toggle}>
            <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>{' '}
            <bdi>{visibleLine(field.path) || '(empty)'}</bdi>
          </button>
        </th>
        <td>
          {field.types.join(', ')}
          {field.conflict && <Conflict field={field} streamId={streamId} onResolved={onResolved} />}
        </td>
        <td class="samples">
          {field.samples_withheld ? 'not with this token' : <Samples samples={field.samples} />}
        </td>
        <td class="when">{formatAgo(Date.parse(field.last_seen_at))}</td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4}>
            <FieldDetails streamId={streamId} path={field.path} />
          </td>
        </tr>
      )}
    </>
  )
}

/** As JSON, so that a number and a string of its digits look unlike. */
function Samples({ samples }: Pick<FieldInfo, 'samples'>) {
  return (
    <>
      {samples.map((sample, index) => (
        <span key={sample}>
          {index > 0 && ', '}
          <bdi>{visibleLine(sample)}</bdi>
        </span>
      ))}
    </>
  )
}

function Conflict({ field, streamId, onResolved }: RowProps) {
  const resolve = async () => {
    try {
      const path = encodeURIComponent(field.path)
      await call(`streams/${streamId}/fields/${path}/resolve`, { method: 'POST' })
      tell(`${visibleLine(field.path)} now has the type that was seen last`)
      onResolved()
    } catch (cause) {
      tell(failureText(cause) ?? '', true)
    }
  }
  return (
    <p class="inline">
      <span class="warn">▲ conflict</span>
      {may('streams:write') && (
        <button
          type="button"
          class="small"
          title="Takes the type that was seen last for the right one"
          onClick={() => void resolve()}
        >
          Resolve
        </button>
      )}
    </p>
  )
}
