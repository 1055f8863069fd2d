import type { StoredSettings } from '../../../features/settings/model.ts'
import { send } from '../../api.ts'
import { Fields } from '../../editing/form.tsx'
import { Publishing } from '../../editing/publishing.tsx'
import { words } from '../../format.ts'
import { CustomSettings } from '../../settings/custom-settings.tsx'
import { Preview } from '../../settings/preview.tsx'
import { type Rule, RulesEditor } from '../../settings/rules.tsx'
import { type Surroundings, SurroundingsContext, UNKNOWN } from '../../settings/surroundings.ts'
import { useRemote } from '../../ui/remote.tsx'

type RulesByKey = Record<string, Rule[]>

export function Screen() {
  const { data } = useRemote<Surroundings>('settings/surroundings')
  return (
    <SurroundingsContext.Provider value={data ?? UNKNOWN}>
      <Publishing<StoredSettings>
        kind="settings"
        title="Settings"
        readable={withRulesInPlace}
        findWarnings={findWarnings}
        preview={(content) => <Preview content={content} />}
      >
        {({ draft, setDraft, schema }) => (
          <>
            <Fields
              schema={schema}
              path="settings"
              value={draft}
              hidden={['features', 'rules']}
              languages={['en']}
              onChange={(next) => setDraft(next as StoredSettings)}
              below={(path, value) => {
                const key = path.replace(/^settings\./, '')
                const rules = (draft.rules ?? {}) as RulesByKey
                return (
                  <RulesEditor
                    label={words(key)}
                    path={`settings.rules.${key}`}
                    rules={rules[key] ?? []}
                    defaultValue={value}
                    onChange={(list) => setDraft(withRules(draft, { ...rules, [key]: list }))}
                  />
                )
              }}
            />
            <CustomSettings
              features={draft.features}
              onChange={(features) => setDraft({ ...draft, features })}
            />
          </>
        )}
      </Publishing>
    </SurroundingsContext.Provider>
  )
}

/** The server's warnings, with settings as the screen names them: `Hard paywall, rule 1 …`. */
async function findWarnings(content: StoredSettings): Promise<string[]> {
  const warnings = await send<string[]>('preview/settings/warnings', { content })
  return warnings.map((warning) => warning.replace(/^[\w.]+(?=, rule \d)/, words))
}

/** Replaces the rules, without empty lists, which the server does not store either. */
function withRules({ rules: _old, ...settings }: StoredSettings, rules: RulesByKey) {
  const entries = Object.entries(rules).filter(([, list]) => list.length > 0)
  const kept = entries.length > 0 ? { rules: Object.fromEntries(entries) } : {}
  return { ...settings, ...kept } as StoredSettings
}

/** Moves the rules to their settings, for readers. */
function withRulesInPlace({ rules = {}, ...settings }: StoredSettings): unknown {
  const result = structuredClone(settings) as Record<string, unknown>
  for (const [key, list] of Object.entries(rules)) {
    const [field = '', name] = key.split('.')
    const group = name === undefined ? result : (result[field] as Record<string, unknown>)
    const own = name ?? field
    group[own] = { value: group[own], rules: list }
  }
  return result
}
