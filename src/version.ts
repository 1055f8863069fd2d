import { dependencies, version } from '../package.json' with { type: 'json' }

export type BuildInfo = {
  /** The commit of the build, with `-modified` if the working tree had changes; null if it was not built in a Git repository. */
  commit: string | null
  /** The time of that commit, in ISO 8601. */
  date: string | null
  /** The public keys whose releases `homeport upgrade` accepts, as base64 SPKI. */
  releaseKeys: string[]
}

/** Embedded in the executable by `scripts/build.ts`. */
declare const HOMEPORT_BUILD: BuildInfo | undefined

/** The build of this executable; null when the program runs from source. */
export const BUILD_INFO: BuildInfo | null =
  typeof HOMEPORT_BUILD === 'undefined' ? null : HOMEPORT_BUILD
export const VERSION: string = version
/** The version, with the commit and its date: `0.1.0 (1a2b3c4d5e6f, 2026-03-01)`. */
export const BUILD: string = `${version} (${describeBuild(BUILD_INFO)})`
export const SHARP_VERSION: string = dependencies.sharp

function describeBuild(build: BuildInfo | null): string {
  if (build === null) return 'from source'
  const { commit, date } = build
  return commit === null ? 'commit unknown' : `${commit}, ${date?.slice(0, 10)}`
}
