/**
 * A rule as a form, beside what it would have done: from a search in Explore it is two clicks, and
 * nobody saves a rule without having seen how often it would have fired.
 */
import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { ApiError } from '../base/api.ts'
import { go, href, route } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { Failure } from '../parts/failure.tsx'
import { Lacking } from '../parts/lacking.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'
import {
  changeRule,
  isOfOther,
  makeRule,
  mayChangeRule,
  mayMakeRules,
  type RuleInfo,
} from './rule.ts'
import { type Draft, draftOfRule, draftOfSearch, mistakeOf, settingsOfDraft } from './rule-draft.ts'
import { AdvancedFields, BasicFields } from './rule-fields.tsx'
import { ruleAddress } from './rule-list.tsx'
import { RuleTrial } from './rule-trial.tsx'

interface FormProps {
  /** Undefined: a new one, of what the address says. */
  readonly rule: RuleInfo | undefined
  /** Reads it again, as somebody else was faster. */
  readonly onAgain?: () => void
}

export function RuleForm({ rule, onAgain }: FormProps) {
  const draft = useSignal<Draft>(
    rule === undefined ? draftOfSearch(route.value) : draftOfRule(rule),
  )
  const isOvertaken = useSignal(false)
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    isOvertaken.value = false
    const body = settingsOfDraft(draft.value, rule)
    const name = draft.value.name.trim()
    try {
      const saved = await (rule === undefined ? makeRule(name, body) : changeRule(rule, body))
      tell(`${isolated(visibleLine(saved.name))} is saved`)
      go(ruleAddress(saved), 'replace')
    } catch (cause) {
      const isOther = cause instanceof ApiError && cause.status === 412
      if (isOther && rule === undefined) throw new Error(NAME_TAKEN)
      isOvertaken.value = isOther
      throw cause
    }
  })
  if (rule === undefined ? !mayMakeRules() : !mayChangeRule(rule))
    return <Lacking scope="alerts:write" what="make rules of alerts" />
  const change = (changes: Partial<Draft>) => {
    draft.value = { ...draft.value, ...changes }
  }
  const mistake = mistakeOf(draft.value)
  const parts = { draft: draft.value, change }
  return (
    <section>
      <p class="quiet crumbs">
        <a href={href('alerts')}>Alerts</a>
        {rule !== undefined && (
          <>
            {' › '}
            <a href={ruleAddress(rule)}>
              <bdi>{visibleLine(rule.name)}</bdi>
            </a>
          </>
        )}
      </p>
      <div class="heading">
        <h1>{rule === undefined ? 'New rule' : `Edit ${visibleLine(rule.name)}`}</h1>
      </div>
      {rule !== undefined && isOfOther(rule) && (
        <p class="card quiet">
          It stays a rule of <bdi>{visibleLine(rule.owner)}</bdi>, and reads with those rights. What
          it would have done is told of what you see.
        </p>
      )}
      <div class="halves rule-form">
        <form onSubmit={onSubmit}>
          <BasicFields {...parts} rule={rule} />
          <details>
            <summary>More: shares, windows that overlap, labels, event time</summary>
            <AdvancedFields {...parts} />
          </details>
          {failure !== undefined && (
            <Failure text={failure}>
              {isOvertaken.value && (
                <button type="button" onClick={onAgain}>
                  Read it again, without my changes
                </button>
              )}
            </Failure>
          )}
          <div class="buttons">
            <button type="button" onClick={() => history.back()}>
              Cancel
            </button>
            <button
              type="submit"
              class="primary"
              disabled={isBusy || mistake !== undefined || draft.value.name.trim() === ''}
            >
              {rule === undefined ? 'Create rule' : 'Save'}
            </button>
          </div>
        </form>
        <RuleTrial
          {...(mistake === undefined
            ? { settings: settingsOfDraft(draft.value, rule) }
            : { mistake })}
          onThreshold={(op, value) => change({ op, value: String(value) })}
        />
      </div>
    </section>
  )
}

const NAME_TAKEN = 'There is a rule of this name: choose another one'
