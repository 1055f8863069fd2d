/** The generators that `bun run test:apps` runs: the newest versions on npm as of 2026-11-29. */
export const GENERATORS = {
  /** Up to this version, the npm package contains the generator as a jar; later ones download it from Maven. */
  openApiGenerator: '@openapitools/openapi-generator-cli@1.0.18-5.0.0-beta2',
  openApiTypeScript: 'openapi-typescript@7.13.0',
  openApiFetch: 'openapi-fetch@0.17.0',
  orval: 'orval@8.38.0',
  axios: 'axios@1.21.1',
  heyApi: '@hey-api/openapi-ts@0.99.0',
  /** For Hey API, which fails with TypeScript 7. */
  typeScript6: 'typescript@6.0.3',
}

export const KOTLIN = 'kotlin-compiler@2.4.20'
export const KOTLIN_COMPILER = 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler'

/** The packages with which the pages about purchases are compiled. */
export const MOBILE = {
  expoIap: 'expo-iap@5.8.1',
  reactNativeIap: 'react-native-iap@16.7.1',
  expo: 'expo@58.0.26',
  asyncStorage: '@react-native-async-storage/async-storage@2.2.0',
  expoSecureStore: 'expo-secure-store@57.0.4',
  reactNative: 'react-native@0.88.1',
  react: 'react@19.3.1',
  reactDom: 'react-dom@19.3.1',
  reactNativeWeb: 'react-native-web@0.21.4',
  reactTypes: '@types/react@19.3.0',
}
