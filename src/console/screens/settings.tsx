import type { StoredSettings } from '../../features/settings/model.ts'
import { FeaturesEditor, Preview } from '../editing/features.tsx'
import { Fields } from '../editing/form.tsx'
import { Publishing } from '../editing/publishing.tsx'

export function SettingsScreen() {
  return (
    <Publishing<StoredSettings>
      kind="settings"
      title="Settings"
      preview={({ features }) => <Preview features={features} />}
    >
      {({ draft, setDraft, schema }) => (
        <>
          <Fields
            schema={schema}
            path="settings"
            value={draft}
            hidden={['features']}
            languages={['en']}
            onChange={(next) => setDraft(next as StoredSettings)}
          />
          <FeaturesEditor
            features={draft.features}
            onChange={(features) => setDraft({ ...draft, features })}
          />
        </>
      )}
    </Publishing>
  )
}
