import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatAgo, formatShare } from '../base/format.ts'
import { may } from '../base/rights.ts'
import { listText, readList, route, setParams } from '../base/route.ts'
import { FieldDetails } from './field-details.tsx'

/** Of one type of a field. */
export interface SeenType {
  readonly type: string
  readonly last_seen_at: string
  readonly share: number | null
}

export interface FieldInfo {
  readonly path: string
  readonly types: readonly string[]
  readonly seen: readonly SeenType[]
  readonly conflict: boolean
  readonly share: number | null
  readonly first_seen_at: string
  readonly last_seen_at: string
  readonly resolved_at: string | null
  /** As JSON, every digit kept. */
  readonly samples: readonly string[]
  readonly samples_withheld?: boolean
}

interface RowProps {
  readonly field: FieldInfo
  readonly streamId: string
  /** It is what the page is about: open from the beginning. */
  readonly isAlone: boolean
  readonly onResolve: () => void
}

/** A field of the catalog, which opens in place: the address has those that are open. */
export function FieldRow({ field, streamId, isAlone, onResolve }: RowProps) {
  const isClosed = useSignal(false)
  const open = readList(route.value.params.get('open'))
  const isOpen = isAlone ? !isClosed.value : open.includes(field.path)
  const toggle = () => {
    isClosed.value = isOpen
    const others = open.filter((path) => path !== field.path)
    const paths = isOpen ? others : [...others, field.path]
    if (!isAlone) setParams({ open: listText(paths) }, 'replace')
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
          {field.conflict && <Conflict onResolve={onResolve} />}
        </td>
        <td class="number">{field.share === null ? '–' : formatShare(field.share)}</td>
        <td class="samples">
          {field.samples_withheld ? 'not with this token' : <Samples samples={field.samples} />}
        </td>
        <td class="when">{formatAgo(Date.parse(field.last_seen_at))}</td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5}>
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

function Conflict({ onResolve }: Pick<RowProps, 'onResolve'>) {
  return (
    <p class="inline">
      <span class="warn">▲ conflict</span>
      {may('streams:write') && (
        <button type="button" class="small" onClick={onResolve}>
          Resolve…
        </button>
      )}
    </p>
  )
}
