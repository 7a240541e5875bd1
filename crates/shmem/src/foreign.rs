//! Types that other crates know to be plain: those of `bytemuck` and `zerocopy`.

#[cfg(any(feature = "bytemuck", feature = "zerocopy"))]
macro_rules! foreign {
    ($(#[$attribute:meta])* $name:ident: $($bound:path),+) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name<T>(
            /// The value.
            pub T,
        );

        // SAFETY: it is a `T` and nothing else, by `repr(transparent)`; the bounds promise that every pattern of bits is a `T`,
        // that a `T` has no padding and no cell, and so that it holds no address: not every pattern of bits is one.
        unsafe impl<T: $($bound +)+ Copy + Send + Sync + 'static> crate::Resident for $name<T> {}
        // SAFETY: data of which every pattern of bits is a value makes no promise about its writers.
        unsafe impl<T: $($bound +)+ Copy + Send + Sync + 'static> crate::Plain for $name<T> {}
    };
}

#[cfg(feature = "bytemuck")]
foreign! {
    /// Plain data that [`bytemuck`] knows: a `T: Pod` in symmetric memory. (Feature `bytemuck`.)
    ///
    /// ```
    /// use oxshmem::AsPod;
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Colour([u8; 4]);
    /// let world = oxshmem::World::init()?;
    /// let colours = world.allocate_slice(8, AsPod(Colour([0; 4])))?;
    /// colours[3].put(AsPod(Colour([1, 2, 3, 4])), 0);
    /// assert_eq!(colours[3].load().0.0, [1, 2, 3, 4]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    AsPod: bytemuck::Pod
}

#[cfg(feature = "zerocopy")]
foreign! {
    /// Plain data that [`zerocopy`] knows: a `T: FromBytes + IntoBytes + Immutable` in symmetric memory. (Feature `zerocopy`.)
    ///
    /// ```
    /// use oxshmem::AsBytes;
    /// use zerocopy::{FromBytes, Immutable, IntoBytes};
    /// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
    /// #[repr(C)]
    /// struct Colour([u8; 4]);
    /// let world = oxshmem::World::init()?;
    /// let colours = world.allocate_slice(8, AsBytes(Colour([0; 4])))?;
    /// colours[3].put(AsBytes(Colour([1, 2, 3, 4])), 0);
    /// assert_eq!(colours[3].load().0.0, [1, 2, 3, 4]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    AsBytes: zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable
}
