/** In place of an empty chart or list: that no event has such a field, and which are near. */
import type { ComponentChildren } from 'preact'
import { visibleLine } from '../../src/language/visible-text.ts'
import { findUnknown, unknownText } from '../base/catalog.ts'
import { type EventField, fieldText } from '../base/field.ts'
import { useLoaded } from '../base/loaded.ts'

interface UnknownProps {
  readonly streamId: string | undefined
  /** What nothing was found of. */
  readonly fields: readonly EventField[]
  /** Another one in place of the one that is not there. */
  readonly onInstead: (unknown: EventField, name: string) => void
  /** What is shown where all of them are known, or nobody can tell. */
  readonly children: ComponentChildren
}

export function UnknownFields({ streamId, fields, onInstead, children }: UnknownProps) {
  const key = JSON.stringify([streamId, ...fields.map(fieldText)])
  const { value = [], isStale } = useLoaded(key, (signal) => findUnknown(streamId, fields, signal))
  if (isStale || value.length === 0) return <>{children}</>
  return (
    <div class="unknown" role="status">
      {value.map(({ field, nearest, complete }) => (
        <p key={fieldText(field)} class="inline">
          <span>
            <bdi>{visibleLine(unknownText(streamId, field, complete))}</bdi>
            {nearest.length > 0 && '; nearest:'}
          </span>
          {nearest.slice(0, NEAREST_SHOWN).map(({ name }) => (
            <button
              key={name}
              type="button"
              class="small mono"
              onClick={() => onInstead(field, name)}
            >
              <bdi>{visibleLine(name)}</bdi>
            </button>
          ))}
        </p>
      ))}
    </div>
  )
}

const NEAREST_SHOWN = 5
