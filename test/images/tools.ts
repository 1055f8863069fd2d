/** The Debian packages with the tools, which decode images independently of Homeport. */
const PACKAGES = { 'heif-enc': 'libheif-examples', 'heif-convert': 'libheif-examples' }
const IMAGEMAGICK = { convert: 'imagemagick', identify: 'imagemagick' }

/** Why the images cannot be compared; null if all tools are installed. */
export function missingPackages(): string | null {
  const missing = Object.entries({ ...PACKAGES, ...IMAGEMAGICK })
    .filter(([tool]) => Bun.which(tool) === null)
    .map(([, name]) => name)
  return missing.length > 0 ? `install ${[...new Set(missing)].join(' and ')}` : null
}

/** The output of a command. */
export function run(...command: string[]): Buffer {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return stdout
}
