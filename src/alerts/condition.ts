/** When a value of a window breaks a rule. */

export const OPERATORS = ['>', '>=', '<', '<=', '==', '!='] as const
export type Operator = (typeof OPERATORS)[number]

export interface Condition {
  readonly op: Operator
  readonly value: number
}

export function isBreach({ op, value: threshold }: Condition, value: number): boolean {
  switch (op) {
    case '>':
      return value > threshold
    case '>=':
      return value >= threshold
    case '<':
      return value < threshold
    case '<=':
      return value <= threshold
    case '==':
      return value === threshold
    case '!=':
      return value !== threshold
  }
}

/** Whether small values break it: then the smallest groups are the ones to look at. */
export function isOfSmall({ op }: Condition): boolean {
  return op === '<' || op === '<='
}
