package androidx.activity

import android.app.Activity
import androidx.lifecycle.LifecycleOwner

abstract class ComponentActivity : Activity(), LifecycleOwner
