import { formatAgo, formatBytes, formatCount, formatOf, formatSeconds } from '../base/format.ts'
import { href } from '../base/route.ts'
import type { Overview, StreamInfo } from '../base/stream.ts'
import { type Listed, sizeOf } from './listed.ts'

export function StreamRow({ stream, usage }: Listed<StreamInfo, Overview>) {
  return (
    <tr>
      <th scope="row">
        <a href={href('streams', stream.id)}>{stream.name}</a>
      </th>
      <td class="number">{usage ? formatCount(usage.events) : '…'}</td>
      <td class="number">{usage ? formatBytes(usage.raw_bytes) : '…'}</td>
      <td class="number">{usage ? formatBytes(sizeOf(usage)) : '…'}</td>
      <td>
        {usage?.newest_event_at ? formatAgo(Date.parse(usage.newest_event_at)) : usage ? '–' : '…'}
      </td>
      <td>{usage ? formatSeconds(usage.lag_seconds) : '…'}</td>
      <td>{stateOf(stream, usage)}</td>
      <td>{stream.retention}</td>
    </tr>
  )
}

/** The worst first; in words, not in colours alone. */
function stateOf(stream: StreamInfo, usage: Overview | undefined) {
  if (usage === undefined) return '…'
  const { set_aside: aside, refused, type_conflicts: conflicts } = usage
  if (aside > 0) return <span class="bad">⚠ {formatOf(aside, 'segment', ' not in queries')}</span>
  if (usage.schema_learning === 'hard_cap') return <span class="warn">▲ schema is full</span>
  if (refused > 0) return <span class="warn">▲ {formatOf(refused, 'request', ' refused')}</span>
  if (conflicts > 0) {
    return (
      <a class="warn when" href={href('schema', stream.id, { conflict: 'true' })}>
        ▲ {formatOf(conflicts, 'type conflict')}
      </a>
    )
  }
  return 'ok'
}
