internal import Addresses
internal import Curl
internal import EngineAPI
internal import TransferModel

/// Handles libcurl's callbacks for a transfer, so that `Transfer` does not depend on the stages.
protocol TransferReceiver: AnyObject {
  /// - Returns: false where the transfer cannot go on.
  func received(header line: UnsafeRawBufferPointer, by transfer: Transfer) -> Bool
  func received(body bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> BodyDisposition
  func readBody(of transfer: Transfer, into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition
}

/// What libcurl calls while it handles the request.
extension Transfer: EasyHandleDelegate {
  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { receiver.received(header: line, by: self) }

  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    receiver.received(body: bytes, by: self)
  }

  func didTraceBody(_ bytes: UnsafeRawBufferPointer) { answer.chunks?.add(bytes) }

  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    receiver.readBody(of: self, into: buffer)
  }

  func rewindBody() -> Bool {
    restartBody()
    return source?.rewind() ?? false
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission {
    guard gate.mayConnect(to: address) == .granted, let destination = IPAddress(address) else {
      return .refused
    }
    return network.take(context.settings.networks.choice(to: destination, allowing: allowedClasses))
  }

  func maySendRequest(toAddress address: String) -> Bool {
    touch()
    // After a 417, libcurl would resend by itself.
    guard machine.course.next == nil else { return false }
    let verdict = contact.meet(
      lacksBody: lacksBody, isIdempotent: request.isIdempotent, isUnprocessed: easy?.isUnprocessed == true,
      hasBody: bytesTaken == 0 || rewindBody())
    switch verdict {
    case .waitForBody, .refuseRepeat: return false
    case .send(let beginsAgain):
      if beginsAgain { noteBegan() }
      return gate.maySendRequest(toAddress: address)
    }
  }
}
