import { FeaturesEditor, Preview } from '../editing/features.tsx'
import { Fields } from '../editing/form.tsx'
import { Publishing } from '../editing/publishing.tsx'
import type { Me, Settings } from '../types.ts'

/** What every copy of the app should know. */
export function SettingsScreen({ me }: { me: Me }) {
  return (
    <Publishing<Settings> kind="settings" title="Settings" me={me}>
      {({ draft, setDraft, schema }) => (
        <>
          <Fields
            schema={schema}
            value={draft}
            hidden={['features']}
            languages={['en']}
            onChange={(next) => setDraft(next as Settings)}
          />
          <FeaturesEditor
            features={draft.features}
            onChange={(features) => setDraft({ ...draft, features })}
          />
          <Preview features={draft.features} />
        </>
      )}
    </Publishing>
  )
}
