/** Settings of a stream that has none of its own. */
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import type { StreamSettings } from '../../src/store/control/control-store.ts'

export const DEFAULT_SETTINGS: Omit<StreamSettings, 'name'> = {
  retentionMs: 30 * 86_400_000,
  maxStoredBytes: null,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  textFields: [],
  otlpContext: 'drop',
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
}
