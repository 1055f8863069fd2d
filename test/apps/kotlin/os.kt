package android.os

class Bundle

object Build {
    val MODEL: String get() = TODO()
}
