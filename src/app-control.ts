import { CredentialCache } from './accept/admission/authenticate.ts'
import type { Context } from './app-context.ts'
import type { Stores } from './cell/open-stores.ts'
import { ControlDirectory } from './store/control/control-directory.ts'
import { ControlStore } from './store/control/control-store.ts'
import { CredentialStore } from './store/control/credential-store.ts'
import { ViewStore } from './store/control/view-store.ts'

/** The control plane: streams, keys, tokens. It is in the first cell's PostgreSQL. */
export function startControl({ log, metrics, stoppers }: Context, { postgres, reads }: Stores) {
  const control = new ControlStore(postgres, (change) => credentials.forget(change))
  const credentials = new CredentialCache({
    source: new CredentialStore(postgres, (count) => {
      metrics.credentialLookups.inc(count)
      metrics.credentialQueries.inc()
    }),
    onError: (err) => log.warn({ err }, 'changes of keys and tokens are not heard of; will retry'),
  })
  credentials.start()
  stoppers.push(() => credentials.stop())
  // It only reads here: what changes streams is `control`.
  const streams = new ControlStore(reads.postgres, () => undefined)
  return {
    control,
    credentials,
    streams,
    views: new ViewStore(postgres),
    directory: new ControlDirectory(postgres),
  }
}
