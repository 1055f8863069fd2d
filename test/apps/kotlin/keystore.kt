package android.security.keystore

import java.security.spec.AlgorithmParameterSpec

object KeyProperties {
    const val PURPOSE_ENCRYPT = 1
    const val PURPOSE_DECRYPT = 2
    const val BLOCK_MODE_GCM = "GCM"
    const val ENCRYPTION_PADDING_NONE = "NoPadding"
}

abstract class KeyGenParameterSpec : AlgorithmParameterSpec {
    class Builder(alias: String, purposes: Int) {
        fun setBlockModes(vararg modes: String): Builder = TODO()
        fun setEncryptionPaddings(vararg paddings: String): Builder = TODO()
        fun build(): KeyGenParameterSpec = TODO()
    }
}
