import { CredentialCache } from '../accept/admission/authenticate.ts'
import { ControlDirectory } from '../store/control/control-directory.ts'
import { ControlStore } from '../store/control/control-store.ts'
import { CredentialStore } from '../store/control/credential-store.ts'
import { SessionStore } from '../store/control/session-store.ts'
import { ViewStore } from '../store/control/view-store.ts'
import type { Context } from './context.ts'
import type { Stores } from './open-stores.ts'

/** The control plane: streams, keys, tokens, sessions. It is in the first cell's PostgreSQL. */
export function startControl(
  { log, metrics, stoppers }: Context,
  { postgres, reads, watch, history }: Stores,
) {
  const lookups = metrics.counter(
    'ingest_credential_lookups_total',
    'Credentials that were not cached and were looked up',
  )
  const queries = metrics.counter(
    'ingest_credential_lookup_queries_total',
    'Queries that looked them up',
  )
  const control = new ControlStore(postgres, (change) => credentials.forget(change))
  const store = new CredentialStore(postgres, (count) => {
    lookups.inc(count)
    queries.inc()
  })
  const credentials = new CredentialCache({
    source: {
      ...store,
      readVersion: async () => {
        const version = await store.readVersion()
        history.saw('control', BigInt(version))
        return version
      },
    },
    onError: (err) => log.warn({ err }, 'changes of keys and tokens are not heard of; will retry'),
  })
  credentials.start()
  watch.whenMoved(async () => credentials.invalidate())
  stoppers.push(() => credentials.stop())
  // It only reads here: what changes streams is `control`.
  const streams = new ControlStore(reads.postgres, () => undefined)
  return {
    control,
    credentials,
    streams,
    findKeyOwners: store.findKeyOwners,
    views: new ViewStore(postgres),
    sessionStore: new SessionStore(postgres, (change) => credentials.forget(change)),
    directory: new ControlDirectory(postgres),
  }
}
