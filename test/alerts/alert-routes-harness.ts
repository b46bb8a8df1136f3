/** The routes of alerts on a real control store; what a backtest asks is counted from a list. */
import { channelRoutes } from '../../src/serve/alert-channels.ts'
import { silenceRoutes } from '../../src/serve/alerts/silences.ts'
import { alertRoutes } from '../../src/serve/alerts.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { ChannelStore } from '../../src/store/alerts/channel-store.ts'
import { OutboxStore } from '../../src/store/alerts/outbox-store.ts'
import { RuleStore } from '../../src/store/alerts/rule-store.ts'
import { SilenceStore } from '../../src/store/alerts/silence-store.ts'
import { TransitionStore } from '../../src/store/alerts/transition-store.ts'
import { WindowStore } from '../../src/store/alerts/window-store.ts'
import { ViewStore } from '../../src/store/control/view-store.ts'
import { RestHarness, type TestDatabase } from '../serve/rest-harness.ts'
import { CountedEvents } from './counted-events.ts'

export const NOW_MS = Date.parse('2026-05-05T05:05:00Z')
/** As little as a rule may have. */
export const RULE = { condition: { op: '>', value: 1 }, window: '1m' }
/** What somebody has who makes rules. */
export const RULE_SCOPES = [
  ...(['streams:read', 'streams:write', 'events:read', 'alerts:read', 'alerts:write'] as const),
]

export async function startAlertRoutes(
  { postgres }: TestDatabase,
  ask = new CountedEvents(),
): Promise<RestHarness> {
  return await RestHarness.start(postgres, ({ resolveToken, control }) => [
    ...streamRoutes({ resolveToken, control }),
    ...[alertRoutes, channelRoutes, silenceRoutes].flatMap((of) =>
      of({
        resolveToken,
        streams: control,
        views: new ViewStore(postgres),
        nowMs: () => NOW_MS,
        alerts: {
          rules: new RuleStore(postgres),
          silences: new SilenceStore(postgres),
          transitions: new TransitionStore(postgres),
          windows: new WindowStore(postgres),
          channels: new ChannelStore(postgres),
          outbox: new OutboxStore(postgres),
          send: async () => ({ outcome: 'delivered' }),
          closing: { read: async () => ({ closedMs: NOW_MS, nodeId: 0, nowMs: NOW_MS }) },
          ask,
        },
      }),
    ),
  ])
}
