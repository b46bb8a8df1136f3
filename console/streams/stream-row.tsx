import { formatAgo, formatBytes, formatCount, formatOf, formatSeconds } from '../base/format.ts'
import { href } from '../base/route.ts'
import type { StreamInfo, Usage } from '../base/stream.ts'
import { useUsage } from './usage-of.ts'

export function StreamRow({ stream }: { stream: StreamInfo }) {
  const { value: usage, failure } = useUsage(stream.id)
  const stored = usage && usage.stored_bytes.raw + (usage.stored_bytes.projection ?? 0)
  return (
    <tr>
      <th scope="row">
        <a href={href('streams', stream.id)}>{stream.name}</a>
      </th>
      <td class="number">{usage ? formatCount(usage.events) : '…'}</td>
      <td class="number">{usage ? formatBytes(usage.raw_bytes) : '…'}</td>
      <td class="number">{stored === undefined ? '…' : formatBytes(stored)}</td>
      <td>
        {usage?.newest_event_at ? formatAgo(Date.parse(usage.newest_event_at)) : usage ? '–' : '…'}
      </td>
      <td>{usage ? formatSeconds(usage.projection.lag_seconds) : '…'}</td>
      <td>
        {failure !== undefined ? <span class="bad">⚠ {failure}</span> : stateOf(stream, usage)}
      </td>
      <td>{stream.retention}</td>
    </tr>
  )
}

/** The worst first; in words, not in colours alone. */
function stateOf(stream: StreamInfo, usage: Usage | undefined) {
  if (usage === undefined) return '…'
  const setAside = usage.projection.set_aside.reduce((sum, { count }) => sum + count, 0)
  if (setAside > 0)
    return <span class="bad">⚠ {formatOf(setAside, 'segment', ' not in queries')}</span>
  if (usage.schema_learning === 'hard_cap') return <span class="warn">▲ schema is full</span>
  const refused = usage.refusals.reduce((sum, { count }) => sum + count, 0)
  if (refused > 0) return <span class="warn">▲ {formatOf(refused, 'request', ' refused')}</span>
  if (usage.schema.type_conflicts > 0) {
    const address = href('schema', stream.id, { conflict: 'true' })
    return (
      <a class="warn when" href={address}>
        ▲ {formatOf(usage.schema.type_conflicts, 'type conflict')}
      </a>
    )
  }
  return 'ok'
}
