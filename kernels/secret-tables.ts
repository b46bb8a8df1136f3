/** By three letters (`workers/transform/names/name-endings.ts`). */
@unmanaged
export class NameEnds {
  /** How a name of a secret ends so; and whether a long one has them before. */
  ends: usize = 0
  middles: usize = 0
}

/**
 * The context for finding secrets (`workers/transform/redact/suspects.ts`): addresses of tables.
 */
@unmanaged
export class SecretTables {
  /** By a hash of three bytes: a bit, where a format begins so. */
  triples: usize = 0
  /**
   * Tables of two halves. Of signs: TOKEN for what tokens are made of, a higher bit for each mark.
   * Of words: anything for letters, digits and underscore.
   */
  signs: usize = 0
  words: usize = 0
  /**
   * By six bits of each of two bytes: the number of the group of formats that begin so. By group:
   * where its heads begin; and where those of the next do.
   */
  pairs: usize = 0
  headStarts: usize = 0
  /** By group and byte: whether it is the fourth of one of the formats. */
  fourths: usize = 0
  /** Sixteen bytes, and sixteen that say which of them count. */
  heads: usize = 0
  /** Distances from a run's end, a byte each. */
  distances: usize = 0
  distanceCount: i32 = 0
  runBytesMin: usize = 0
  /** By a hash of four bytes: a bit for each distance at which they end a secret. */
  literals: usize = 0
  /** By the last three letters, and the three before those: how names of credentials end. */
  signEnds: usize = 0
  signMasks: usize = 0
  names: NameEnds = changetype<NameEnds>(0)
  /** See `nextInnerKey`. */
  keyStates: usize = 0
  /** By node: what its key says; nothing for one that was not judged yet. */
  keyFlags: usize = 0
  keyCount: i32 = 0
  /** The flags of keys that need a closer look. */
  specialKeys: u32 = 0
  /** The node of `log` at the root. */
  logNode: i32 = 0
}
