//! The engine's side of the simulated disk: its `Storage`, files and locks.

use std::io;
use std::sync::Arc;

use idjournal::{Storage, StorageFile, StorageLock, Writes};

use super::simulated::{CallKind, Effect, SimulatedDisk};

impl Storage for SimulatedDisk {
    fn place(&self) -> String {
        "simulated disk".to_owned()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.call(CallKind::List, "")?;
        Ok(state.media.names())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let mut state = self.state();
        state.call(CallKind::Create, name)?;
        let inode = state.media.create(name)?;
        Ok(Arc::new(SimulatedFile {
            disk: self.clone(),
            inode,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let mut state = self.state();
        state.call(CallKind::Open, name)?;
        let inode = state.media.inode(name)?;
        Ok(Arc::new(SimulatedFile {
            disk: self.clone(),
            inode,
        }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call(CallKind::Rename, from)?;
        state.media.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call(CallKind::Remove, name)?;
        state.media.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state();
        let result = state.call(CallKind::SyncDirectory, "");
        state.media.sync_names(result.is_err());
        result
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        let mut state = self.state();
        state.call(CallKind::Lock, name)?;
        if !state.locked.insert(name.to_owned()) {
            return Ok(None);
        }
        state.has_failed = false;
        // Nobody relies on what stands in it after a power cut, so it is durable at once.
        state.media.replace(name, holder.as_bytes())?;
        Ok(Some(Box::new(SimulatedLock {
            disk: self.clone(),
            name: name.to_owned(),
        })))
    }
}

struct SimulatedLock {
    disk: SimulatedDisk,
    name: String,
}

impl StorageLock for SimulatedLock {}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.disk.state().locked.remove(&self.name);
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    inode: u64,
}

impl StorageFile for SimulatedFile {
    fn bytes(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        let name = state.name(self.inode);
        state.call(CallKind::Length, &name)?;
        Ok(state.media.bytes(self.inode).len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let name = state.name(self.inode);
        let effect = state.enter(CallKind::Read, &name, (offset, buffer.len()));
        if let Some(Effect::Fails(number)) = effect {
            return Err(io::Error::from_raw_os_error(number));
        }
        let content = state.media.bytes(self.inode);
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(content.len());
        let mut count = buffer.len().min(content.len() - start);
        if let Some(Effect::Short(most)) = effect {
            count = count.min(most);
        }
        buffer[..count].copy_from_slice(&content[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.disk.state().write(self.inode, offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let name = state.name(self.inode);
        let result = state.call(CallKind::Sync, &name);
        state.media.sync(self.inode, result.is_err());
        result
    }

    fn prepare(&self, _: Writes) -> io::Result<()> {
        Ok(())
    }
}
