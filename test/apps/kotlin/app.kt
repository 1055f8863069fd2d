package android.app

import android.content.Context
import android.os.Bundle

abstract class Application : Context()

abstract class Activity : Context() {
    val application: Application get() = TODO()
    protected open fun onCreate(savedInstanceState: Bundle?) {}
    protected open fun onStart() {}
    protected open fun onResume() {}
    protected open fun onStop() {}
}
