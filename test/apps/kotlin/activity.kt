package androidx.activity

import android.app.Activity
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ViewModel

abstract class ComponentActivity : Activity(), LifecycleOwner

inline fun <reified T : ViewModel> ComponentActivity.viewModels(): Lazy<T> = TODO()
