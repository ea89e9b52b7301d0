extension TransferTask {
  /// The blob of the body, if the body is in a file.
  package var bodyKey: BlobKey { BlobKey(id, .body, body?.blob) }

  /// The blob of the partial body; `nil` if there is none, or if the blob belongs to another task.
  package var partialKey: BlobKey? {
    guard let point = partial?.download, point.source == id else { return nil }
    return point.key
  }
}

extension TransferTask {
  /// The files of the task's request bodies: the original request's, and those of requests that have replaced it.
  package var requestBodyKeys: [BlobKey] {
    let first = originalRequest.body?.spooled?.blobKey(of: id)
    let start = startRequest?.request.body?.spooled.flatMap {
      $0.blobKey(of: id) == first ? nil : $0.blobKey(of: id)
    }
    return [first, replacementBodyKey, start == replacementBodyKey ? nil : start].compactMap(\.self)
  }

  /// The file of the current request's body; nil if that is inline, or is the original request's file.
  package var replacementBodyKey: BlobKey? {
    guard let body = currentRequest.body?.spooled, body.blob != originalRequest.body?.spooled?.blob else {
      return nil
    }
    return body.blobKey(of: id)
  }
}
