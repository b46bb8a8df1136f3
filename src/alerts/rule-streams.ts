/** The streams that a rule is about: what its owner sees now. */
import { IngestError } from '../errors.ts'
import type { Principal, Stream } from '../model/stream.ts'
import { findStreams, type StreamSource } from '../read/find-streams.ts'
import type { OwnerRights } from '../store/alerts/owner-rights.ts'
import type { Rule, RuleRights } from '../store/alerts/rule.ts'

/** The name of an owner's stream of transitions. */
export const ALERTS_STREAM = '_alerts'

export interface RuleStreamsDeps {
  readonly streams: StreamSource
  readonly readRights: (owner: string) => Promise<OwnerRights>
}

/** Who a rule reads as. */
export function readerOf({ owner, asAdmin, streamIds }: RuleRights): Principal {
  return {
    ...{ tokenId: 0, owner, scopes: new Set([asAdmin ? 'admin' : 'events:read']) },
    streamIds: streamIds && new Set(streamIds),
  }
}

/** Throws `forbidden` when the owner may not read events any more, `not_found`, `malformed`. */
export async function streamsOfRule(
  { streams, readRights }: RuleStreamsDeps,
  rule: Pick<Rule, 'owner' | 'asAdmin' | 'streamIds' | 'settings'>,
): Promise<readonly Stream[]> {
  const { mayReadEvents, isAdmin } = await readRights(rule.owner)
  if (!mayReadEvents) {
    throw new IngestError('forbidden', 'no valid token of the owner may read events any more')
  }
  const wanted = rule.settings.streams
  const reader = readerOf({ ...rule, asAdmin: rule.asAdmin && isAdmin })
  const found = await findStreams(streams, reader, wanted)
  // Its own transitions would make a rule about all streams go round in circles.
  return wanted === '*' ? found.filter(({ name }) => name !== ALERTS_STREAM) : found
}
