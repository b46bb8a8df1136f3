import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatAgo, formatShare } from '../base/format.ts'
import { may } from '../base/rights.ts'
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
  /** From the beginning. */
  readonly isOpen: boolean
  readonly onResolve: () => void
}

/** A field of the catalog, which opens in place. */
export function FieldRow({ field, streamId, isOpen: isOpenAtFirst, onResolve }: RowProps) {
  const isOpen = useSignal(isOpenAtFirst)
  return (
    <>
      <tr>
        <th scope="row">
          <button
            type="button"
            class="plain path"
            aria-expanded={isOpen.value}
            onClick={() => {
              isOpen.value = !isOpen.value
            }}
          >
            <span aria-hidden="true">{isOpen.value ? '▾' : '▸'}</span>{' '}
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
      {isOpen.value && (
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
