import { dependencies, version } from '../package.json' with { type: 'json' }

export const VERSION: string = version
export const SHARP_VERSION: string = dependencies.sharp
