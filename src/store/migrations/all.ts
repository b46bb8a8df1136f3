/**
 * Every migration, oldest first. A released migration is never changed: add another. So the paths
 * in their comments are where files were at the time.
 */
import { sql as core } from './0001-core.ts'
import { sql as observe } from './0002-observe.ts'
import { sql as retain } from './0003-retain.ts'
import { sql as sentBytes } from './0004-sent-bytes.ts'
import { sql as mixedSegments } from './0005-mixed-segments.ts'
import { sql as idempotency } from './0006-idempotency.ts'
import { sql as setAside } from './0007-set-aside.ts'
import { sql as controlChanges } from './0008-control-changes.ts'
import { sql as projectionIdentity } from './0009-projection-identity.ts'
import { sql as promotedStreams } from './0010-promoted-streams.ts'
import { sql as textFields } from './0011-text-fields.ts'
import { sql as partialSchemas } from './0012-partial-schemas.ts'
import { sql as views } from './0013-views.ts'
import { sql as viewNames } from './0014-view-names.ts'
import { sql as textNames } from './0015-text-names.ts'
import { sql as otlpContext } from './0016-otlp-context.ts'
import { sql as liveMarks } from './0017-live-marks.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'core', sql: core },
  { version: 2, name: 'observe', sql: observe },
  { version: 3, name: 'retain', sql: retain },
  { version: 4, name: 'sent-bytes', sql: sentBytes },
  { version: 5, name: 'mixed-segments', sql: mixedSegments },
  { version: 6, name: 'idempotency', sql: idempotency },
  { version: 7, name: 'set-aside', sql: setAside },
  { version: 8, name: 'control-changes', sql: controlChanges },
  { version: 9, name: 'projection-identity', sql: projectionIdentity },
  { version: 10, name: 'promoted-streams', sql: promotedStreams },
  { version: 11, name: 'text-fields', sql: textFields },
  { version: 12, name: 'partial-schemas', sql: partialSchemas },
  { version: 13, name: 'views', sql: views },
  { version: 14, name: 'view-names', sql: viewNames },
  { version: 15, name: 'text-names', sql: textNames },
  { version: 16, name: 'otlp-context', sql: otlpContext },
  { version: 17, name: 'live-marks', sql: liveMarks },
]
