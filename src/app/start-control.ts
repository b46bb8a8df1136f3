import { CredentialCache } from '../accept/admission/authenticate.ts'
import { ControlDirectory } from '../store/control/control-directory.ts'
import { ControlStore } from '../store/control/control-store.ts'
import { CredentialStore } from '../store/control/credential-store.ts'
import { ViewStore } from '../store/control/view-store.ts'
import type { Context } from './context.ts'
import type { Stores } from './open-stores.ts'

/** The control plane: streams, keys, tokens. It is in the first cell's PostgreSQL. */
export function startControl({ metrics, stoppers }: Context, { postgres, reads }: Stores) {
  const control = new ControlStore(postgres, (change) => credentials.forget(change))
  const credentials = new CredentialCache({
    source: new CredentialStore(postgres, (count) => {
      metrics.credentialLookups.inc(count)
      metrics.credentialQueries.inc()
    }),
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
