/** Fields whose types conflict, by their names, each with the way to it. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson } from '../base/api.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { href } from '../base/route.ts'

const NAMED_MAX = 5

interface ConflictsProps {
  readonly streamId: string
  /** As usage tells; nothing is shown without any. */
  readonly count: number
}

export function Conflicts({ streamId, count }: ConflictsProps) {
  const { value } = useLoaded(`${streamId} ${count}`, async (signal) => {
    if (count === 0) return []
    const query = { conflict: true, limit: NAMED_MAX }
    const answer = await callJson<{ fields: readonly { readonly path: string }[] }>(
      `streams/${streamId}/fields`,
      { query, signal },
    )
    return answer.fields
  })
  if (value === undefined || count === 0) return null
  const more = count - value.length
  return (
    <p class="inline">
      <span class="warn">▲ type conflicts:</span>
      {value.map(({ path }) => (
        <a key={path} class="mono" href={href('schema', streamId, { field: path })}>
          <bdi>{visibleLine(path) || '(empty)'}</bdi>
        </a>
      ))}
      {more > 0 && (
        <a href={href('schema', streamId, { conflict: 'true' })}>and {formatCount(more)} more</a>
      )}
    </p>
  )
}
